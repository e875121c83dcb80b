#include "bench/agents.h"

#include <utility>

namespace beeline::bench {

Result<Player> Player::join(Board& board, Side side, const Case& what) {
  AttachOptions options;
  options.name = side == Side::kPing ? "ping" : "pong";
  options.temporary = true;
  options.start_coordinator = false;
  options.wait = what.mode;
  auto agent = Agent::attach(options);
  if (!agent) return tl::unexpected(agent.error());
  meet(board, side, kAttached);
  // Either side opens its link: what it has taken, it says in its own.
  auto peer = agent->peer(side == Side::kPing ? "pong" : "ping");
  if (!peer) return tl::unexpected(peer.error());
  Player player(std::move(*agent), *peer, what);
  if (auto linked = player.greet(side); !linked) return tl::unexpected(linked.error());
  return player;
}

Result<void> Player::greet(Side side) {
  if (side == Side::kPing) {
    static_cast<void>(send_end() && receive_end());
  } else {
    static_cast<void>(receive_end() && send_end());
  }
  return error();
}

bool Player::receive_end() {
  static_cast<void>(receive(0));
  return error_.empty();
}

bool Player::send_loan(std::uint64_t number) {
  auto loan = agent_.loan(peer_, what_.size);
  if (!loan && loan.error().code == ErrorCode::kFull) {
    loan = agent_.loan_until(peer_, what_.size, Deadline::max());
  }
  if (!loan) return note(loan.error().text);
  if (what_.carry == Carry::kLoan) write_whole(loan->bytes(), number);
  for (;;) {
    const SendResult sent = agent_.send(*loan);
    if (sent.status != SendStatus::kFull) return note(sent);
  }
}

bool Player::note(const SendResult& result) {
  return static_cast<bool>(result) || note("send: " + std::string(to_string(result.status)));
}

bool Player::note(std::string text) {
  error_ = std::move(text);
  return false;
}

}  // namespace beeline::bench
