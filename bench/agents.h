#pragma once
// The two agents of a run, one in each process, and how they hand a payload to each other.

#include <array>
#include <chrono>

#include <beeline/agent.h>

#include "bench/case.h"
#include "bench/pair.h"
#include "bench/payload.h"

namespace beeline::bench {

/// Payloads up to this size travel in the lane, see Agent::send(); larger ones are loans.
inline constexpr std::size_t kLanePayload = 64;

class Player {
 public:
  /// Attaches, opens the link to the other side once that has attached too, and exchanges a first
  /// message. Errors: those of Agent::attach() and Agent::peer().
  [[nodiscard]] static Result<Player> join(Board& board, Side side, const Case& what);

  [[nodiscard]] Agent& agent() { return agent_; }
  [[nodiscard]] Peer peer() const { return peer_; }

  /// Writes the payload of `number` as the case says and sends it, waiting while there is no space.
  /// False: it could not be sent, error() says why.
  [[nodiscard]] bool send(std::uint64_t number) {
    if (what_.carry != Carry::kLane) return send_loan(number);
    const std::span<std::byte> payload(buffer_.data(), what_.size);
    write_whole(payload, number);
    if (agent_.send(peer_, payload)) return true;
    return note(agent_.send_until(peer_, payload, Deadline::max()));
  }

  /// Waits for the payload of `number`, reads it as the case says and finishes it. False: it was
  /// the end, or something else than expected; error() tells.
  [[nodiscard]] bool receive(std::uint64_t number) {
    Result<Message> message = agent_.receive();
    if (!message) return note(message.error().text);
    const auto payload = message->payload();
    const bool whole = payload.size() == what_.size &&
                       (what_.carry == Carry::kUntouched || read_whole(payload, number));
    const bool end = payload.empty();
    message->done();
    return whole || (!end && note("a payload is not what was sent"));
  }

  /// An empty payload: the other side's receive() returns false.
  [[nodiscard]] bool send_end() {
    return note(agent_.send_until(peer_, std::span<const std::byte>(), Deadline::max()));
  }

  /// Waits for the end. False: something else went wrong.
  [[nodiscard]] bool receive_end();

  /// What went wrong; nothing if it was only the end.
  [[nodiscard]] Result<void> error() const {
    if (error_.empty()) return {};
    return fail(ErrorCode::kSystem, error_);
  }

 private:
  Player(Agent agent, Peer peer, const Case& what)
      : agent_(std::move(agent)), peer_(peer), what_(what) {}
  /// A first message each way, after which both know both links.
  [[nodiscard]] Result<void> greet(Side side);
  bool send_loan(std::uint64_t number);
  bool note(const SendResult& result);
  bool note(std::string text);

  Agent agent_;
  Peer peer_;
  Case what_;
  std::string error_;
  alignas(64) std::array<std::byte, kLanePayload> buffer_{};
};

}  // namespace beeline::bench
