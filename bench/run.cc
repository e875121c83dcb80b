#include "bench/run.h"

#include <algorithm>

#include "bench/limit.h"

namespace beeline::bench {
namespace {

constexpr double kLimitSeconds = 0.1;

Percentiles percentiles_of(const Histogram& histogram) {
  return {histogram.percentile(50.0), histogram.percentile(99.0), histogram.percentile(99.9),
          histogram.max()};
}

Result<void> play(Board& board, Side side, const Case& what, const Prepare& prepare) {
  const Result<Measure> measure = prepare(board, side);
  if (!measure) return tl::unexpected(measure.error());
  const int cpu = side == Side::kPing ? what.cpus.ping : what.cpus.pong;
  if (auto pinned = pin(cpu); !pinned) return pinned;
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
  outcome.count = std::max(board.rounds.count(), board.messages);
  if (board.elapsed_ns > 0) {
    outcome.messages_per_s =
        static_cast<double>(board.messages) * 1e9 / static_cast<double>(board.elapsed_ns);
  }
  outcome.limit = {board.limit_before.percentile(50.0), board.limit_after.percentile(50.0)};
  return outcome;
}

}  // namespace

Result<Outcome> run_case(SharedBoard& board, const Case& what, const Prepare& prepare) {
  for (int attempt = 1;; ++attempt) {
    board.clear();
    const auto done = run_pair(*board, what.seconds,
                               [&](Side side) { return play(*board, side, what, prepare); });
    if (!done) return tl::unexpected(done.error());
    Outcome outcome = outcome_of(*board);
    outcome.attempts = attempt;
    if (outcome.stable() || attempt == kMostAttempts) return outcome;
  }
}

Result<Outcome> run_limit(SharedBoard& board, const Case& what) {
  return run_case(board, what, [&](Board&, Side) -> Result<Measure> {
    return [&](Board& shared, Side side) -> Result<void> {
      play_limit(shared, side, what.limit(), what.seconds, shared.rounds, kLimitItself);
      return {};
    };
  });
}

}  // namespace beeline::bench
