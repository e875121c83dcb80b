#include "bench/throughput.h"

#include <memory>

#include "bench/agents.h"
#include "src/os/clock.h"

namespace beeline::bench {
namespace {

constexpr std::uint64_t kMessagesPerClock = 64;
constexpr std::uint64_t kWarmUp = 100'000;

/// From the first message until the receiver has said that it has read the last one.
Result<void> stream(Board& board, Player& player, double seconds) {
  std::uint64_t number = 0;
  const auto send_until = [&](auto&& over) {
    while (!over()) {
      for (std::uint64_t i = 0; i < kMessagesPerClock; ++i) {
        if (!player.send(++number)) return;
      }
    }
  };
  const std::int64_t cold = os::monotonic_ns();
  const auto length = static_cast<std::int64_t>(seconds * 1e9);
  // The warm-up ends with the messages or, where everybody sleeps, with the time.
  send_until([&] { return number >= kWarmUp || os::monotonic_ns() - cold > length / 10; });
  const std::uint64_t warm = number;
  const std::int64_t start = os::monotonic_ns();
  send_until([&] { return os::monotonic_ns() - start >= length; });
  if (player.error() && player.send_end()) static_cast<void>(player.receive_end());
  board.elapsed_ns = os::monotonic_ns() - start;
  board.messages = number - warm;
  return player.error();
}

Result<void> absorb(Player& player) {
  for (std::uint64_t number = 1; player.receive(number);) ++number;
  if (player.error()) static_cast<void>(player.send_end());
  return player.error();
}

}  // namespace

Result<Outcome> run_throughput(SharedBoard& board, const Case& what) {
  return run_case(board, what, [&](Board& shared, Side side) -> Result<Measure> {
    auto joined = Player::join(shared, side, what);
    if (!joined) return tl::unexpected(joined.error());
    auto player = std::make_shared<Player>(std::move(*joined));
    return [player, &what](Board& own, Side plays) {
      return plays == Side::kPing ? stream(own, *player, what.seconds) : absorb(*player);
    };
  });
}

}  // namespace beeline::bench
