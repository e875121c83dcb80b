// NATS (its core, without JetStream): publish and synchronous subscription with the C client over
// TCP on the loopback interface, the only transport of the server. In round trips the client sends
// at once; in a stream its own thread writes collected messages.

#include <nats/nats.h>

#include <vector>

#include <fmt/format.h>

#include "bench/peers/driver.h"
#include "bench/peers/registry.h"
#include "bench/peers/servers.h"

namespace beeline::bench::peers {
namespace {

constexpr std::size_t kLargestMessage = 1 << 20;
constexpr std::int64_t kPatienceMs = 30'000;

class Nats {
 public:
  static constexpr bool kPinnedFirst = true;
  class Port;

  static Result<Nats> create(const PeerCase& what) {
    if (what.size <= kLargestMessage) return Nats();
    return beeline::fail(ErrorCode::kTooBig,
                         fmt::format("the server's max_payload is {} bytes", kLargestMessage));
  }
};

class Nats::Port : public PortBase {
 public:
  // The server drops a subscriber that is far behind.
  static constexpr std::uint64_t kWindow = 8192;

  Port(const Nats&, const PeerCase& what, const Place& place)
      : PortBase(what, place), subject_(name_of(place.out())), own_(what.size) {}
  ~Port() {
    ::natsSubscription_Destroy(in_);
    ::natsConnection_Destroy(connection_);
    ::natsOptions_Destroy(options_);
  }

  bool listen() {
    return good(::natsOptions_Create(&options_)) &&
           good(::natsOptions_SetURL(options_, what().server.c_str())) &&
           good(::natsOptions_SetSendAsap(options_, what().is_round_trip())) &&
           good(::natsConnection_Connect(&connection_, options_)) &&
           (!place().receives() || subscribe());
  }

  bool send(std::uint64_t number, bool) {
    write_payload(own_.data(), number);
    return good(::natsConnection_Publish(connection_, subject_.c_str(), own_.data(),
                                         static_cast<int>(size())));
  }

  bool receive(std::uint64_t& number) {
    natsMsg* message = nullptr;
    if (!good(::natsSubscription_NextMsg(&message, in_, kPatienceMs))) return false;
    const bool is_good =
        read_payload(::natsMsg_GetData(message),
                     static_cast<std::size_t>(::natsMsg_GetDataLength(message)), number);
    ::natsMsg_Destroy(message);
    return is_good;
  }

 private:
  [[nodiscard]] std::string name_of(std::size_t channel) const {
    return fmt::format("{}-{}", what().scope, channel);
  }

  bool subscribe() {
    const std::string name = name_of(place().in());
    return good(::natsConnection_SubscribeSync(&in_, connection_, name.c_str())) &&
           good(::natsSubscription_SetPendingLimits(in_, -1, -1)) &&
           // Returns when the server knows the subscription.
           good(::natsConnection_Flush(connection_));
  }

  bool good(natsStatus status) {
    return status == NATS_OK || fail(fmt::format("nats: {}", ::natsStatus_GetText(status)));
  }

  natsOptions* options_ = nullptr;
  natsConnection* connection_ = nullptr;
  natsSubscription* in_ = nullptr;
  std::string subject_;
  std::vector<char> own_;
};

}  // namespace

PeerEntry nats_entry() {
  return {"nats",
          "libnats-dev nats-server",
          false,
          true,
          measure_peer<Nats>,
          [] { return std::string("cnats ") + ::nats_GetVersion(); },
          [] { return start_nats_server({}); }};
}

}  // namespace beeline::bench::peers
