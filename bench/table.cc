#include "bench/table.h"

#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "bench/case.h"

namespace beeline::bench {
namespace {

// The value at the place that a JSON pointer names; null if there is none.
Row value_at(const Row& row, const std::string& pointer) {
  const Row::json_pointer place(pointer);
  return row.contains(place) ? row.at(place) : Row();
}

std::string size_text(std::uint64_t bytes) {
  if (bytes != 0 && bytes % (1U << 20) == 0) return fmt::format("{} MiB", bytes >> 20);
  if (bytes != 0 && bytes % (1U << 10) == 0) return fmt::format("{} KiB", bytes >> 10);
  return fmt::format("{} B", bytes);
}

std::string padded(const Column& column, const std::string& text) {
  return column.is_left ? fmt::format(" {:<{}}", text, column.width)
                        : fmt::format(" {:>{}}", text, column.width);
}

// How well a row was measured, where that is worth a word.
std::string runs_text(const Row& row) {
  const auto attempts = row.value("attempts", 1);
  if (row.value("stable", true)) {
    return attempts == 1 ? "" : fmt::format("run {}: those before were not stable", attempts);
  }
  const auto count = row.value("count", Outcome::kFewest);
  if (count < Outcome::kFewest) {
    return fmt::format("UNSTABLE: only {} of them in the last of {} runs, others use the CPUs",
                       count, attempts);
  }
  return fmt::format("UNSTABLE: limit {} before, {} after, in the last of {} runs",
                     row.value("limit_before_ns", 0), row.value("limit_after_ns", 0), attempts);
}

// Why a row that was measured beside another one has no ratio to it.
std::string ratio_text(const Row& row) {
  if (!row.contains("ratio_to_beeline") || !row.at("ratio_to_beeline").is_null()) return "";
  return fmt::format("no ratio: the limit was {:.0f} while Beeline was measured",
                     row.value("beeline_limit_rtt_ns", 0.0));
}

}  // namespace

double rounded(double value) { return std::stod(fmt::format("{:.6g}", value)); }

std::string cell_text(const Column& column, const Row& row) {
  const Row value = value_at(row, column.value);
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number()) return "-";
  if (column.is_size) return size_text(value.get<std::uint64_t>());
  return fmt::format("{:.{}f}", value.get<double>() * column.scale, column.digits);
}

std::string head_line(const std::vector<Column>& columns) {
  std::string line;
  for (const Column& column : columns) line += padded(column, column.title);
  return line;
}

std::string row_line(const std::vector<Column>& columns, const Row& row) {
  std::string line;
  for (const Column& column : columns) line += padded(column, cell_text(column, row));
  const std::string note = note_of(row);
  return note.empty() ? line : line + "  " + note;
}

std::string note_of(const Row& row) {
  for (const char* const why : {"skipped", "failed"}) {
    if (row.contains(why)) return fmt::format("{}: {}", why, row.at(why).get<std::string>());
  }
  const std::string beside = row.value("better", false) ? "better than Beeline" : ratio_text(row);
  const std::string runs = runs_text(row);
  if (beside.empty() || runs.empty()) return beside + runs;
  return beside + "; " + runs;
}

}  // namespace beeline::bench
