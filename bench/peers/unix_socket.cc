// A pair of Unix sockets that keep the borders of messages (SOCK_SEQPACKET); several senders share
// one end.

#include <sys/socket.h>

#include <vector>

#include <fmt/format.h>

#include "bench/peers/driver.h"
#include "bench/peers/registry.h"
#include "src/os/fd.h"

namespace beeline::bench::peers {
namespace {

class UnixSockets {
 public:
  static constexpr bool kPinnedFirst = true;
  class Port;

  static Result<UnixSockets> create(const PeerCase& what) {
    UnixSockets sockets;
    const int type = SOCK_SEQPACKET | (what.sleeps() ? 0 : SOCK_NONBLOCK);
    int ends[2] = {-1, -1};
    if (::socketpair(AF_UNIX, type, 0, ends) != 0) return os::system_failure("socketpair");
    for (std::size_t i = 0; i < 2; ++i) {
      sockets.ends_[i].reset(ends[i]);
      if (auto grown = grow(ends[i], what.size); !grown) return tl::unexpected(grown.error());
    }
    return sockets;
  }

 private:
  // Makes room for two messages if the default has less; only root may ask for any size.
  static Result<void> grow(int fd, std::size_t bytes) {
    int room = 0;
    socklen_t length = sizeof room;
    const int wanted = static_cast<int>(2 * bytes + 4096);
    const auto read_room = [&] { (void)::getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, &length); };
    read_room();
    if (room >= wanted) return {};
    (void)::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &wanted, sizeof wanted);
    (void)::setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &wanted, sizeof wanted);
    read_room();
    if (room >= wanted) return {};
    return fail(
        ErrorCode::kTooBig,
        fmt::format("the system's net.core.wmem_max gives {} bytes, {} are needed", room, wanted));
  }

  std::array<os::UniqueFd, 2> ends_;
};

class UnixSockets::Port : public PortBase {
 public:
  Port(const UnixSockets& sockets, const PeerCase& what, const Place& place)
      : PortBase(what, place),
        fd_(sockets.ends_[place.side == Side::kPing ? 0 : 1].get()),
        own_(what.size),
        buffer_(what.size) {}

  bool send(std::uint64_t number, bool) {
    write_payload(own_.data(), number);
    while (::send(fd_, own_.data(), size(), MSG_NOSIGNAL) < 0) {
      if (errno != EAGAIN && errno != EINTR) return fail_by_errno("send to a socket");
    }
    return true;
  }

  bool receive(std::uint64_t& number) {
    ssize_t length = 0;
    while ((length = ::recv(fd_, buffer_.data(), size(), 0)) < 0) {
      if (errno != EAGAIN && errno != EINTR) return fail_by_errno("receive from a socket");
    }
    return read_payload(buffer_.data(), static_cast<std::size_t>(length), number);
  }

 private:
  int fd_;
  std::vector<std::byte> own_;
  std::vector<std::byte> buffer_;
};

}  // namespace

PeerEntry unix_socket_entry() {
  return {"unix-socket", "", true, true, measure_peer<UnixSockets>, kernel_version, nullptr};
}

}  // namespace beeline::bench::peers
