#include "bench/markdown.h"

#include <fmt/format.h>

#include "bench/page.h"
#include "bench/targets.h"

namespace beeline::bench {
namespace {

std::string in_cell(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '|') safe += '\\';
    safe += c;
  }
  return safe;
}

std::string markdown_table(const std::vector<Column>& columns, const std::vector<Row>& rows) {
  std::string head = "|";
  std::string rule = "|";
  for (const Column& column : columns) {
    head += fmt::format(" {} |", column.title);
    rule += column.is_left ? " --- |" : " ---: |";
  }
  std::string text = fmt::format("{} note |\n{} --- |\n", head, rule);
  for (const Row& row : rows) {
    std::string line = "|";
    for (const Column& column : columns)
      line += fmt::format(" {} |", in_cell(cell_text(column, row)));
    text += fmt::format("{} {} |\n", line, in_cell(note_of(row)));
  }
  return text + "\n";
}

// The columns of the neighbours' rows that a reader compares.
std::vector<Column> better_columns() {
  return {{.title = "test", .value = "/kind", .is_left = true},
          {.title = "size", .value = "/size", .is_size = true},
          {.title = "mode", .value = "/mode", .is_left = true},
          {.title = "who", .value = "/peer", .is_left = true},
          {.title = "p50, ns", .value = "/rtt_ns/p50"},
          {.title = "1000/s", .value = "/messages_per_s", .scale = 1e-3, .digits = 1},
          {.title = "slowest", .value = "/window_messages_per_s/min", .scale = 1e-3, .digits = 1},
          {.title = "fastest", .value = "/window_messages_per_s/max", .scale = 1e-3, .digits = 1},
          {.title = "Beeline: p50, ns", .value = "/beeline_rtt_ns"},
          {.title = "1000/s", .value = "/beeline_messages_per_s", .scale = 1e-3, .digits = 1},
          {.title = "limit, ns", .value = "/limit_rtt_ns/p50"},
          {.title = "ratio", .value = "/ratio_to_beeline", .digits = 2}};
}

std::string machine_line(const Row& machine) {
  std::string text;
  for (const auto& [key, value] : machine.items()) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", key,
                        value.is_string() ? value.get<std::string>() : value.dump());
  }
  return "Measured on: " + text + ".\n\n";
}

}  // namespace

std::string targets_markdown(const RowsByTest& rows) {
  const auto machines = machines_of(rows);
  std::string text;
  for (const Row& machine : machines) text += machine_line(machine);
  text += fmt::format("{}\n\n{}", targets_text(machines.size()),
                      markdown_table(target_columns(), target_rows(rows)));
  if (!rows.contains("peers")) return text + "The neighbours were not measured.\n";
  text += fmt::format(
      "The rows in which somebody else is better than Beeline{}. Ratio: over Beeline's figure; "
      "slowest and fastest: of five windows of a stream.\n\n",
      comparison_text(rows));
  const auto better = better_rows(rows);
  return better.empty() ? text : text + markdown_table(better_columns(), better);
}

}  // namespace beeline::bench
