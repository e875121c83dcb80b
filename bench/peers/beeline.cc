// Beeline itself, measured like in `latency` and `throughput`, except for the payload: it is
// written and read only at its ends, like that of the peers.

#include <beeline/agent.h>
#include <beeline/version.h>

#include <optional>

#include <fmt/format.h>

#include "bench/agents.h"
#include "bench/peers/driver.h"
#include "bench/peers/registry.h"

namespace beeline::bench::peers {
namespace {

class Agents {
 public:
  // An agent that starts on one CPU does not spin.
  static constexpr bool kPinnedFirst = false;
  class Port;

  static Result<Agents> create(const PeerCase&) { return Agents(); }
};

class Agents::Port : public PortBase {
 public:
  Port(const Agents&, const PeerCase& what, const Place& place) : PortBase(what, place) {}

  bool listen() {
    AttachOptions options;
    options.name = name_of(place().side, place().sender);
    options.temporary = true;
    options.start_coordinator = false;
    options.wait = what().mode;
    auto agent = Agent::attach(options);
    if (!agent) return fail(agent.error().text);
    agent_.emplace(std::move(*agent));
    return true;
  }

  bool connect() {
    // If only the ping side sends, the engine opens the link back by itself.
    if (!place().sends()) return true;
    const bool pings = place().side == Side::kPing;
    const auto peer = agent_->peer(name_of(pings ? Side::kPong : Side::kPing, 0));
    if (!peer) return fail(peer.error().text);
    peer_.emplace(*peer);
    return true;
  }

  bool send(std::uint64_t number, bool) {
    if (size() > kLanePayload) {
      const auto sent = send_loan(*agent_, *peer_, size(), [&](std::span<std::byte> payload) {
        write_payload(payload.data(), number);
      });
      return sent || fail(sent.error().text);
    }
    const std::span<std::byte> payload(buffer_.data(), size());
    write_payload(payload.data(), number);
    if (agent_->send(*peer_, payload)) return true;
    return note(agent_->send_until(*peer_, payload, Deadline::max()));
  }

  bool receive(std::uint64_t& number) {
    Result<Message> message = agent_->receive();
    if (!message) return fail(message.error().text);
    const auto payload = message->payload();
    const bool is_good = read_payload(payload.data(), payload.size(), number);
    message->done();
    return is_good;
  }

 private:
  [[nodiscard]] std::string name_of(Side side, std::uint32_t sender) const {
    return fmt::format("{}-{}-{}", side == Side::kPing ? "ping" : "pong", sender, what().scope);
  }

  bool note(const SendResult& result) {
    return static_cast<bool>(result) || fail("send: " + std::string(to_string(result.status)));
  }

  std::optional<Agent> agent_;
  std::optional<Peer> peer_;
  alignas(64) std::array<std::byte, kLanePayload> buffer_{};
};

}  // namespace

PeerEntry beeline_entry() {
  return {"beeline", "", true, true, measure_peer<Agents>, [] { return std::string(kVersion); },
          nullptr};
}

}  // namespace beeline::bench::peers
