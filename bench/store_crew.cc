#include "bench/store_crew.h"

#include <memory>
#include <numeric>

#include "bench/histogram.h"
#include "src/os/clock.h"

namespace beeline::bench {
namespace {

// A put that begins in time may be answered this much later.
constexpr double kAnswerPatience = 60.0;

Result<void> put_until_end(Board& board, Side side, const Store& store, double seconds) {
  auto sender = store.connect(number_of(side));
  if (!sender) return tl::unexpected(sender.error());
  // The first put opens the way.
  std::uint64_t number = 0;
  if (auto warm = (*sender)->put(store_payload(number)); !warm) return warm;
  meet(board, side, kStart);
  std::int64_t begin = os::monotonic_ns();
  const std::int64_t end = begin + static_cast<std::int64_t>(seconds * 1e9);
  for (;;) {
    if (auto done = (*sender)->put(store_payload(++number)); !done) return done;
    const std::int64_t now = os::monotonic_ns();
    if (now > end) break;
    if (side == Side::kPing) board.rounds.record(now - begin);
    ++board.counts[number_of(side)];
    begin = now;
  }
  meet(board, side, kDone);
  return {};
}

}  // namespace

Result<SenderRates> measure_senders(SharedBoard& board, const Store& store, std::size_t senders,
                                    double seconds) {
  board.clear(senders);
  const auto played = run_pair(*board, seconds + kAnswerPatience, [&](Side side) {
    return put_until_end(*board, side, store, seconds);
  });
  if (!played) return tl::unexpected(played.error());
  const auto count = std::accumulate(board->counts.begin(), board->counts.end(), std::uint64_t{0});
  return SenderRates{static_cast<double>(count) / seconds, board->rounds.percentile(50.0),
                     board->rounds.percentile(99.0)};
}

}  // namespace beeline::bench
