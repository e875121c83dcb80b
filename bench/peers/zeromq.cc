// ZeroMQ: PUSH and PULL sockets over ipc://, in messages that the library allocates, as its own
// throughput test has them. A thread of the library moves the bytes, so there is no polling mode:
// a poller would hold the CPU that this thread needs.

#include <zmq.h>

#include <fmt/format.h>

#include "bench/peers/driver.h"
#include "bench/peers/registry.h"

namespace beeline::bench::peers {
namespace {

class ZeroMq {
 public:
  static constexpr bool kPinnedFirst = true;
  class Port;

  static Result<ZeroMq> create(const PeerCase&) { return ZeroMq(); }
};

class ZeroMq::Port : public PortBase {
 public:
  Port(const ZeroMq&, const PeerCase& what, const Place& place)
      : PortBase(what, place), context_(::zmq_ctx_new()) {}
  ~Port() {
    for (void* const socket : {in_, out_}) {
      if (socket != nullptr) ::zmq_close(socket);
    }
    ::zmq_ctx_term(context_);
  }

  bool listen() {
    if (!place().receives()) return true;
    in_ = ::zmq_socket(context_, ZMQ_PULL);
    return ::zmq_bind(in_, address(place().in()).c_str()) == 0 || fail_by_library("zmq_bind");
  }

  bool connect() {
    if (!place().sends()) return true;
    out_ = ::zmq_socket(context_, ZMQ_PUSH);
    return ::zmq_connect(out_, address(place().out()).c_str()) == 0 ||
           fail_by_library("zmq_connect");
  }

  bool send(std::uint64_t number, bool) {
    zmq_msg_t message;
    if (::zmq_msg_init_size(&message, size()) != 0) return fail_by_library("zmq_msg_init_size");
    write_payload(::zmq_msg_data(&message), number);
    if (::zmq_msg_send(&message, out_, 0) >= 0) return true;
    ::zmq_msg_close(&message);
    return fail_by_library("zmq_msg_send");
  }

  bool receive(std::uint64_t& number) {
    zmq_msg_t message;
    ::zmq_msg_init(&message);
    const bool is_good =
        ::zmq_msg_recv(&message, in_, 0) >= 0
            ? read_payload(::zmq_msg_data(&message), ::zmq_msg_size(&message), number)
            : fail_by_library("zmq_msg_recv");
    ::zmq_msg_close(&message);
    return is_good;
  }

 private:
  // In the abstract name space of Unix sockets: no file is left behind.
  [[nodiscard]] std::string address(std::size_t channel) const {
    return fmt::format("ipc://@{}-{}", what().scope, channel);
  }
  bool fail_by_library(const char* call) {
    return fail(fmt::format("{}: {}", call, ::zmq_strerror(::zmq_errno())));
  }

  void* context_;
  void* in_ = nullptr;
  void* out_ = nullptr;
};

std::string zeromq_version() {
  int major = 0;
  int minor = 0;
  int patch = 0;
  ::zmq_version(&major, &minor, &patch);
  return fmt::format("{}.{}.{}", major, minor, patch);
}

}  // namespace

PeerEntry zeromq_entry() {
  return {"zeromq", "libzmq3-dev", false, true, measure_peer<ZeroMq>, zeromq_version, nullptr};
}

}  // namespace beeline::bench::peers
