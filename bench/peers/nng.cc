// nng: push and pull sockets over its ipc transport, in messages that the library allocates. Its
// threads move the bytes, so there is no polling mode.

#include <nng/nng.h>
#include <nng/protocol/pipeline0/pull.h>
#include <nng/protocol/pipeline0/push.h>

#include <optional>
#include <string>

#include <fmt/format.h>

#include "bench/peers/driver.h"
#include "bench/peers/registry.h"

namespace beeline::bench::peers {
namespace {

class Nng {
 public:
  static constexpr bool kPinnedFirst = true;
  class Port;

  static Result<Nng> create(const PeerCase&) { return Nng(); }
};

class Nng::Port : public PortBase {
 public:
  Port(const Nng&, const PeerCase& what, const Place& place) : PortBase(what, place) {}
  ~Port() {
    if (in_) ::nng_close(*in_);
    if (out_) ::nng_close(*out_);
  }

  bool listen() {
    if (!place().receives()) return true;
    nng_socket socket;
    if (const int error = ::nng_pull0_open(&socket)) return fail_by_library("pull0_open", error);
    in_ = socket;
    // The default refuses messages of more than a megabyte.
    (void)::nng_socket_set_size(socket, NNG_OPT_RECVMAXSZ, 0);
    const int error = ::nng_listen(socket, address(place().in()).c_str(), nullptr, 0);
    return error == 0 || fail_by_library("listen", error);
  }

  bool connect() {
    if (!place().sends()) return true;
    nng_socket socket;
    if (const int error = ::nng_push0_open(&socket)) return fail_by_library("push0_open", error);
    out_ = socket;
    const int error = ::nng_dial(socket, address(place().out()).c_str(), nullptr, 0);
    return error == 0 || fail_by_library("dial", error);
  }

  bool send(std::uint64_t number, bool) {
    nng_msg* message = nullptr;
    if (const int error = ::nng_msg_alloc(&message, size())) return fail_by_library("alloc", error);
    write_payload(::nng_msg_body(message), number);
    const int error = ::nng_sendmsg(*out_, message, 0);
    if (error == 0) return true;
    ::nng_msg_free(message);
    return fail_by_library("sendmsg", error);
  }

  bool receive(std::uint64_t& number) {
    nng_msg* message = nullptr;
    if (const int error = ::nng_recvmsg(*in_, &message, 0)) {
      return fail_by_library("recvmsg", error);
    }
    const bool is_good = read_payload(::nng_msg_body(message), ::nng_msg_len(message), number);
    ::nng_msg_free(message);
    return is_good;
  }

 private:
  // In the abstract name space of Unix sockets: no file is left behind.
  [[nodiscard]] std::string address(std::size_t channel) const {
    return fmt::format("abstract://{}-{}", what().scope, channel);
  }
  bool fail_by_library(const char* call, int error) {
    return fail(fmt::format("nng {}: {}", call, ::nng_strerror(error)));
  }

  std::optional<nng_socket> in_;
  std::optional<nng_socket> out_;
};

}  // namespace

PeerEntry nng_entry() {
  return {"nng",  "libnng-dev",      false,
          true,   measure_peer<Nng>, [] { return std::string(::nng_version()); },
          nullptr};
}

}  // namespace beeline::bench::peers
