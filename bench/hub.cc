#include "bench/hub.h"

#include <algorithm>
#include <memory>
#include <span>

#include <fmt/format.h>

namespace beeline::bench {

Result<Hub> Hub::join(Board& board, const Case& what) {
  auto agent = attach_side(board, Side::kPing, options_of(Side::kPing, what));
  if (!agent) return tl::unexpected(agent.error());
  std::vector<Peer> peers;
  for (std::size_t number = 1; number < what.members; ++number) {
    auto peer = agent->peer(name_of(side_of(number)));
    if (!peer) return tl::unexpected(peer.error());
    peers.push_back(*peer);
  }
  Hub hub(std::move(*agent), std::move(peers));
  if (auto sent = hub.send_ends(); !sent) return tl::unexpected(sent.error());
  if (auto received = hub.receive_ends(); !received) return tl::unexpected(received.error());
  return hub;
}

std::size_t Hub::index_of(Pid pid) const {
  const auto at = std::find_if(peers_.begin(), peers_.end(),
                               [pid](const Peer& peer) { return peer.pid == pid; });
  return static_cast<std::size_t>(at - peers_.begin());
}

Result<void> Hub::send_ends() {
  for (const Peer& peer : peers_) {
    const auto sent = agent_.send_until(peer, std::span<const std::byte>(), Deadline::max());
    if (!sent) return fail(ErrorCode::kSystem, "send: " + std::string(to_string(sent.status)));
  }
  return {};
}

Result<void> Hub::receive_ends() {
  for (std::size_t left = peers_.size(); left > 0; --left) {
    auto message = agent_.receive();
    if (!message) return tl::unexpected(message.error());
    const bool is_end = message->payload().empty();
    message->done();
    if (!is_end) {
      return fail(ErrorCode::kSystem, fmt::format("a message came where {} ends were due", left));
    }
  }
  return {};
}

Result<Outcome> run_hub(SharedBoard& board, const Case& what,
                        const std::function<Result<void>(Board&, Hub&)>& lead,
                        const std::function<Result<void>(Board&, Player&)>& follow) {
  return run_case(board, what, [&](Board& shared, Side side) -> Result<Measure> {
    if (side == Side::kPing) {
      auto joined = Hub::join(shared, what);
      if (!joined) return tl::unexpected(joined.error());
      auto hub = std::make_shared<Hub>(std::move(*joined));
      return [hub, &lead](Board& own, Side) { return lead(own, *hub); };
    }
    auto joined = Player::join(shared, side, what);
    if (!joined) return tl::unexpected(joined.error());
    auto player = std::make_shared<Player>(std::move(*joined));
    return [player, &follow](Board& own, Side) { return follow(own, *player); };
  });
}

}  // namespace beeline::bench
