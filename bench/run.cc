#include "bench/run.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "bench/attempts.h"
#include "bench/histogram_text.h"
#include "bench/limit.h"
#include "src/os/error.h"
#include "tools/beeline/scratch_hive.h"

namespace beeline::bench {
namespace {

constexpr double kLimitSeconds = 0.1;

Result<void> play(Board& board, Side side, const Case& what, const Prepare& prepare) {
  const Result<Measure> measure = prepare(board, side);
  if (!measure) return tl::unexpected(measure.error());
  if (auto pinned = pin(what.cpus.of(side)); !pinned) return pinned;
  const double seconds = std::min(kLimitSeconds, what.seconds);
  play_limit(board, side, what.limit(), seconds, board.limit_before, kLimitBefore);
  meet(board, side, kStart);
  if (auto done = (*measure)(board, side); !done) return done;
  meet(board, side, kDone);
  play_limit(board, side, what.limit(), seconds, board.limit_after, kLimitAfter);
  return {};
}

Outcome outcome_of(const Board& board) {
  Outcome outcome;
  outcome.rtt_ns = percentiles_of(board.rounds);
  outcome.late_ns = percentiles_of(board.late);
  outcome.count = std::max(board.rounds.count(), board.messages);
  outcome.copy_ns = board.copies.percentile(50.0);
  outcome.clock_ns = board.clock_ns;
  if (board.elapsed_ns > 0) {
    outcome.messages_per_s =
        static_cast<double>(board.messages) * 1e9 / static_cast<double>(board.elapsed_ns);
    outcome.window_messages_per_s = board.windows.messages_per_s();
  }
  if (board.looks > 0) {
    outcome.messages_per_look =
        static_cast<double>(board.looked_at) / static_cast<double>(board.looks);
  }
  outcome.limit = {board.limit_before.percentile(50.0), board.limit_after.percentile(50.0)};
  return outcome;
}

Result<void> save(const Histogram& histogram, const std::string& file) {
  std::ofstream out(file);
  out << percentile_text(histogram);
  if (out.flush()) return {};
  return os::system_failure(fmt::format("cannot write the histogram to {}", file));
}

// Saves the histograms of a row and of its limit, if files are named; the row gets their names.
Result<void> save_both(Row& row, const Board& board, const std::string& file,
                       const std::string& limit_file) {
  if (file.empty()) return {};
  const auto limit = std::make_unique<Histogram>(board.limit_before);
  limit->add(board.limit_after);
  if (auto saved = save(board.rounds, file); !saved) return saved;
  if (auto saved = save(*limit, limit_file); !saved) return saved;
  row["hist"] = std::filesystem::path(file).filename().string();
  row["limit_hist"] = std::filesystem::path(limit_file).filename().string();
  return {};
}

}  // namespace

Result<Outcome> run_case(SharedBoard& board, const Case& what, const Prepare& prepare) {
  return measure_until_stable(what.most_attempts, [&]() -> Result<Outcome> {
    board.clear(what.members);
    const auto done = run_pair(*board, what.seconds,
                               [&](Side side) { return play(*board, side, what, prepare); });
    if (!done) return tl::unexpected(done.error());
    return outcome_of(*board);
  });
}

Result<void> run_rows(const Sink& out, const Flags& flags, const std::vector<Case>& cases,
                      const RunCase& run, const Fill& fill) {
  auto board = SharedBoard::create();
  if (!board) return tl::unexpected(board.error());
  out.open(flags.cpus());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& what = cases[i];
    const auto outcome = run(*board, what);
    if (!outcome) return tl::unexpected(outcome.error());
    Row row;
    fill(row, what, *outcome);
    add_conditions(row, what, *outcome);
    const auto saved = save_both(row, **board, flags.hist_of(i + 1, cases.size(), ""),
                                 flags.hist_of(i + 1, cases.size(), "-limit"));
    out.add(std::move(row));
    if (!saved) return saved;
  }
  return {};
}

Result<void> run_rows_in_hive(const Sink& out, const Flags& flags, const std::vector<Case>& cases,
                              const RunCase& run, const Fill& fill) {
  // The hive ends with us in any case.
  auto hive = cli::ScratchHive::start("bench");
  if (!hive) return tl::unexpected(hive.error());
  if (auto done = run_rows(out, flags, cases, run, fill); !done) return done;
  return hive->close();
}

Percentiles percentiles_of(const Histogram& histogram) {
  return {histogram.percentile(50.0), histogram.percentile(99.0), histogram.percentile(99.9),
          histogram.max()};
}

Row percentiles_json(const Percentiles& rtt) {
  return {{"p50", rtt.p50}, {"p99", rtt.p99}, {"p999", rtt.p999}, {"max", rtt.max}};
}

void add_rate(Row& row, const Outcome& outcome) {
  row["messages_per_s"] = rounded(outcome.messages_per_s);
  row["ns_each"] = outcome.messages_per_s > 0.0 ? rounded(1e9 / outcome.messages_per_s) : 0.0;
  const Windows::Rates& windows = outcome.window_messages_per_s;
  row["window_messages_per_s"] = {
      {"min", rounded(windows.min)}, {"p50", rounded(windows.p50)}, {"max", rounded(windows.max)}};
}

std::vector<Column> with_rates(std::vector<Column> before, const std::vector<Column>& after,
                               const Column& rate) {
  std::vector<Column> all = std::move(before);
  all.push_back(rate);
  for (const char* const window : {"min", "max"}) {
    all.push_back(rate);
    all.back().title = window;
    all.back().value = fmt::format("/window_messages_per_s/{}", window);
    all.back().width = 8;
  }
  all.insert(all.end(), after.begin(), after.end());
  return all;
}

double ratio_of(const Outcome& outcome) {
  const double limit = outcome.limit.middle();
  return limit > 0.0 ? rounded(static_cast<double>(outcome.rtt_ns.p50) / limit) : 0.0;
}

void add_conditions(Row& row, const Case& what, const Outcome& outcome) {
  row["mode"] = to_string(what.mode);
  if (!row.contains("limit_rtt_ns")) row["limit_rtt_ns"] = {{"p50", outcome.limit.middle()}};
  row["limit_by"] = to_string(what.limit());
  row["limit_before_ns"] = outcome.limit.before;
  row["limit_after_ns"] = outcome.limit.after;
  row["stable"] = outcome.stable();
  row["attempts"] = outcome.attempts;
  row["count"] = outcome.count;
  Row cpus = Row::array();
  for (std::size_t i = 0; i < what.members; ++i) cpus.push_back(what.cpus.of(side_of(i)));
  row["cpus"] = std::move(cpus);
}

}  // namespace beeline::bench
