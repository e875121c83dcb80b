#include "bench/latency.h"

#include <memory>

#include "bench/agents.h"
#include "bench/rounds.h"

namespace beeline::bench {
namespace {

constexpr double kWarmUpSeconds = 0.02;

Result<void> ping(Board& board, Player& player, double seconds) {
  std::uint64_t number = 0;
  const auto round = [&](std::uint32_t) {
    ++number;
    return player.send(number) && player.receive(number);
  };
  time_rounds(kWarmUpSeconds, board.rounds, round);
  board.rounds.clear();
  if (player.error()) time_rounds(seconds, board.rounds, round);
  if (player.error()) static_cast<void>(player.send_end());
  return player.error();
}

Result<void> pong(Player& player) {
  for (std::uint64_t number = 1; player.receive(number) && player.send(number);) ++number;
  return player.error();
}

}  // namespace

Result<Outcome> run_latency(SharedBoard& board, const Case& what) {
  return run_case(board, what, [&](Board& shared, Side side) -> Result<Measure> {
    auto joined = Player::join(shared, side, what);
    if (!joined) return tl::unexpected(joined.error());
    auto player = std::make_shared<Player>(std::move(*joined));
    return [player, &what](Board& own, Side plays) {
      return plays == Side::kPing ? ping(own, *player, what.seconds) : pong(*player);
    };
  });
}

}  // namespace beeline::bench
