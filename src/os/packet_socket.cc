#include "src/os/packet_socket.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "src/os/clock.h"
#include "src/os/error.h"
#include "src/os/event_fd.h"
#include "src/os/socket_address.h"
#include "src/os/time_spec.h"
#include "src/os/uninterrupted.h"

namespace beeline::os {
namespace {

constexpr int kPeerPidfd = 77;  // SO_PEERPIDFD, Linux 6.5; the headers of Debian 12 lack it
constexpr std::size_t kControlBytes = CMSG_SPACE(kMaxPacketFds * sizeof(int));

// The time until which a call waits.
class Deadline {
 public:
  explicit Deadline(std::chrono::nanoseconds timeout) noexcept
      : timeout_(timeout), start_ns_(monotonic_ns()) {}
  std::chrono::nanoseconds left() const noexcept {
    if (is_for_ever(timeout_)) return timeout_;
    return timeout_ - std::chrono::nanoseconds(monotonic_ns() - start_ns_);
  }

 private:
  std::chrono::nanoseconds timeout_;
  std::int64_t start_ns_;
};

// Asks for the full buffers, with privilege if we have it; smaller ones work too.
void enlarge_buffers(int fd) noexcept {
  const int size = kSocketBufferBytes;
  if (::setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size) != 0) {
    ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  }
  if (::setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) != 0) {
    ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  }
}

Result<void> set_nonblocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags >= 0 && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0) return {};
  return system_failure("make socket non-blocking, fd " + std::to_string(fd));
}

tl::unexpected<Error> connect_failure(int sys_errno, const std::string& path) {
  const std::string what = "connect to '" + path + "'";
  switch (sys_errno) {
    case ENOENT:
    case ECONNREFUSED:
      return system_failure(
          ErrorCode::kNoCoordinator, sys_errno,
          what + ": no process listens there; start the hive or correct its name");
    case EACCES:
    case EPERM:
      return system_failure(ErrorCode::kDenied, sys_errno,
                            what + ": this user may not; see the mode of the socket file");
    case EAGAIN:
      return system_failure(ErrorCode::kTimeout, sys_errno,
                            what + ": no place in the listener's queue within 5 s; is it stopped?");
    default:
      return system_failure(ErrorCode::kSystem, sys_errno, what);
  }
}

tl::unexpected<Error> send_failure(int sys_errno, std::size_t text_bytes, std::size_t fd_count) {
  const std::string what = "send a packet of " + std::to_string(text_bytes) + " bytes with " +
                           std::to_string(fd_count) + " file descriptors";
  switch (sys_errno) {
    case EPIPE:
    case ECONNRESET:
    case ENOTCONN:
      return system_failure(ErrorCode::kClosed, sys_errno, what);
    case EMSGSIZE:
      return system_failure(ErrorCode::kTooBig, sys_errno,
                            what +
                                ": larger than the send buffer; split it, or raise "
                                "net.core.wmem_max");
    case ETOOMANYREFS:
      return system_failure(ErrorCode::kFull, sys_errno,
                            what +
                                ": too many descriptors are under way, not yet received; "
                                "the limit is that of open files");
    case ENOBUFS:
    case ENOMEM:
      return system_failure(ErrorCode::kNoMemory, sys_errno, what);
    default:
      return system_failure(ErrorCode::kSystem, sys_errno, what);
  }
}

// Takes ownership of every descriptor that came before anything else, so that none leaks whatever
// is wrong later.
std::vector<UniqueFd> take_fds(msghdr& message) {
  std::vector<UniqueFd> fds;
  fds.reserve(kMaxPacketFds);
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      if (UniqueFd own(fd); own.valid()) {
        fds.push_back(std::move(own));
      } else {
        message.msg_flags |= MSG_CTRUNC;
      }
    }
  }
  return fds;
}

Result<void> check_sendable(int fd, std::string_view text, std::span<const int> fds) {
  if (fd < 0) return fail(ErrorCode::kClosed, "send a packet: the socket was closed by us");
  // To the reader an empty packet looks like the end of the connection.
  if (text.empty()) return fail(ErrorCode::kInvalid, "send a packet: its text must not be empty");
  if (fds.size() > kMaxPacketFds) {
    return fail(ErrorCode::kInvalid, "send a packet: at most " + std::to_string(kMaxPacketFds) +
                                         " file descriptors, got " + std::to_string(fds.size()));
  }
  return {};
}

Result<Packet> checked_packet(Packet packet, int flags, std::size_t max_bytes, LostFds lost) {
  if ((flags & MSG_TRUNC) != 0) {
    return fail(ErrorCode::kProtocol, "receive: a packet is larger than " +
                                          std::to_string(max_bytes) + " bytes; drop the peer");
  }
  if ((flags & MSG_CTRUNC) != 0 && lost == LostFds::kTell) {
    packet.fds.clear();
    packet.lost_fds = true;
  } else if ((flags & MSG_CTRUNC) != 0) {
    return fail(ErrorCode::kProtocol,
                "receive: not all file descriptors of a packet arrived (" +
                    std::to_string(packet.fds.size()) + " did, at most " +
                    std::to_string(kMaxPacketFds) +
                    "); drop the peer, and see the limit of open files (ulimit -n)");
  }
  return packet;
}

// The length of the next packet without taking it; 0 at the end, -1 with errno.
ssize_t peek_length(int fd) noexcept {
  ssize_t length = 0;
  do {
    length = ::recv(fd, nullptr, 0, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
    // SUBTLE: ECONNRESET says that the peer closed without reading all that we sent. The kernel
    // says it once, before the packets that the peer sent earlier: asking again finds those.
  } while (length < 0 && (errno == EINTR || errno == ECONNRESET));
  return length;
}

Result<ucred> credentials_of(int fd) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0) return credentials;
  return system_failure("ask who the peer is (SO_PEERCRED)");
}

}  // namespace

ssize_t send_packet(int socket, std::string_view text, std::span<const int> fds,
                    int flags) noexcept {
  if (fds.size() > kMaxPacketFds) {
    errno = EINVAL;
    return -1;
  }
  iovec piece{const_cast<char*>(text.data()), text.size()};  // sendmsg only reads it
  alignas(cmsghdr) std::array<char, kControlBytes> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* const part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(part), fds.data(), fds.size_bytes());
  }
  return uninterrupted([&] { return ::sendmsg(socket, &message, MSG_NOSIGNAL | flags); });
}

Result<PacketSocket> PacketSocket::bind(const std::string& path) {
  const auto address = SocketAddress::of(path);
  if (!address) return tl::unexpected<Error>(address.error());
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return system_failure("make packet socket");
  if (::bind(fd.get(), address->get(), address->length()) != 0) {
    const int sys_errno = errno;
    if (sys_errno != EADDRINUSE) {
      return system_failure(ErrorCode::kSystem, sys_errno, "bind '" + path + "'");
    }
    return system_failure(ErrorCode::kAlreadyRunning, sys_errno,
                          "bind '" + path + "': it exists; the holder of the lock file removes it");
  }
  return PacketSocket(std::move(fd));
}

Result<void> PacketSocket::start_listening() {
  if (::listen(fd_.get(), kBacklog) == 0) return {};
  return system_failure("listen on a packet socket");
}

Result<PacketSocket> PacketSocket::listen(const std::string& path) {
  auto socket = bind(path);
  if (!socket) return socket;
  if (auto listening = socket->start_listening(); !listening) {
    return tl::unexpected<Error>(std::move(listening.error()));
  }
  return socket;
}

Result<PacketSocket> PacketSocket::connect(const std::string& path) {
  const auto address = SocketAddress::of(path);
  if (!address) {
    if (address.error().sys_errno != 0) return connect_failure(address.error().sys_errno, path);
    return tl::unexpected<Error>(address.error());
  }
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return system_failure("make packet socket");
  enlarge_buffers(fd.get());

  // Blocking until here, because a non-blocking connect to a full queue fails and cannot be polled
  // for.
  const timeval limit{std::chrono::duration_cast<std::chrono::seconds>(kConnectTimeout).count(), 0};
  if (::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0) {
    return system_failure("set the time-out of a packet socket");
  }
  if (uninterrupted([&] { return ::connect(fd.get(), address->get(), address->length()); }) != 0) {
    return connect_failure(errno, path);
  }
  if (auto set = set_nonblocking(fd.get()); !set) return tl::unexpected<Error>(set.error());
  return PacketSocket(std::move(fd));
}

Result<std::pair<PacketSocket, PacketSocket>> PacketSocket::pair() {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return system_failure("make pair of packet sockets");
  }
  std::array<UniqueFd, 2> own{UniqueFd(ends[0]), UniqueFd(ends[1])};
  if (!own[0].valid() || !own[1].valid()) return system_failure("make pair of packet sockets");
  for (const UniqueFd& end : own) enlarge_buffers(end.get());
  return std::pair(PacketSocket(std::move(own[0])), PacketSocket(std::move(own[1])));
}

Result<PacketSocket> PacketSocket::from_fd(UniqueFd fd) {
  int domain = 0;
  int type = 0;
  socklen_t length = sizeof domain;
  const bool is_socket = ::getsockopt(fd.get(), SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 &&
                         ::getsockopt(fd.get(), SOL_SOCKET, SO_TYPE, &type, &length) == 0;
  if (!is_socket || domain != AF_UNIX || type != SOCK_SEQPACKET) {
    return fail(ErrorCode::kInvalid, "fd " + std::to_string(fd.get()) +
                                         " is not a local packet socket (SOCK_SEQPACKET)");
  }
  if (::fcntl(fd.get(), F_SETFD, FD_CLOEXEC) != 0) {
    return system_failure("set FD_CLOEXEC of fd " + std::to_string(fd.get()));
  }
  if (auto set = set_nonblocking(fd.get()); !set) return tl::unexpected<Error>(set.error());
  enlarge_buffers(fd.get());
  return PacketSocket(std::move(fd));
}

Result<std::optional<PacketSocket>> PacketSocket::accept() {
  for (;;) {
    UniqueFd fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd.valid()) {
      enlarge_buffers(fd.get());
      return std::optional<PacketSocket>(PacketSocket(std::move(fd)));
    }
    if (errno == EAGAIN) return std::optional<PacketSocket>();
    if (errno != EINTR && errno != ECONNABORTED) return system_failure("accept a connection");
  }
}

void PacketSocket::refuse_more() noexcept {
  if (valid()) ::shutdown(fd_.get(), SHUT_RD);
}

void PacketSocket::end() noexcept {
  if (valid()) ::shutdown(fd_.get(), SHUT_RDWR);
}

Result<bool> PacketSocket::try_send(std::string_view text, std::span<const int> fds) {
  if (auto checked = check_sendable(fd_.get(), text, fds); !checked) {
    return tl::unexpected<Error>(std::move(checked.error()));
  }
  const ssize_t sent = send_packet(fd_.get(), text, fds, MSG_DONTWAIT);
  if (sent >= 0) return true;
  if (errno == EAGAIN) return false;
  return send_failure(errno, text.size(), fds.size());
}

Result<void> PacketSocket::send(std::string_view text, std::span<const int> fds,
                                std::chrono::nanoseconds timeout) {
  const Deadline deadline(timeout);
  for (;;) {
    const auto sent = try_send(text, fds);
    if (!sent) return tl::unexpected<Error>(sent.error());
    if (*sent) return {};
    const auto left = deadline.left();
    if (left <= std::chrono::nanoseconds::zero()) {
      return fail(ErrorCode::kTimeout, "send a packet of " + std::to_string(text.size()) +
                                           " bytes: the peer took nothing for " +
                                           std::to_string(timeout / std::chrono::milliseconds(1)) +
                                           " ms; it is stopped or overloaded");
    }
    (void)wait_writable(fd_.get(), left);
  }
}

Result<std::optional<Packet>> PacketSocket::try_receive(std::size_t max_bytes, LostFds lost) {
  if (!valid()) return fail(ErrorCode::kClosed, "receive: the socket was closed by us");
  const ssize_t length = peek_length(fd_.get());
  if (length < 0 && errno == EAGAIN) return std::optional<Packet>();
  if (length < 0) return system_failure("receive a packet");

  Packet packet;
  packet.text.resize(std::min(static_cast<std::size_t>(length), max_bytes));
  iovec piece{packet.text.data(), packet.text.size()};
  alignas(cmsghdr) std::array<char, kControlBytes> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t taken = 0;
  do {
    taken = ::recvmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (taken < 0 && (errno == EINTR || errno == ECONNRESET));  // see peek_length()
  if (taken < 0) return system_failure("receive a packet");
  packet.fds = take_fds(message);
  if (taken == 0 && length == 0) {
    return fail(ErrorCode::kClosed, "receive: the peer has closed the connection");
  }
  packet.text.resize(static_cast<std::size_t>(taken));
  auto checked = checked_packet(std::move(packet), message.msg_flags, max_bytes, lost);
  if (!checked) return tl::unexpected<Error>(std::move(checked.error()));
  return std::optional<Packet>(std::move(*checked));
}

Result<std::optional<Packet>> PacketSocket::receive(std::size_t max_bytes,
                                                    std::chrono::nanoseconds timeout) {
  const Deadline deadline(timeout);
  for (;;) {
    auto packet = try_receive(max_bytes);
    if (!packet || packet->has_value()) return packet;
    const auto left = deadline.left();
    if (left <= std::chrono::nanoseconds::zero()) return packet;
    (void)wait_readable(fd_.get(), left);
  }
}

Result<PeerIdentity> PacketSocket::peer_identity() const {
  const auto credentials = credentials_of(fd_.get());
  if (!credentials) return tl::unexpected<Error>(credentials.error());
  PeerIdentity peer;
  peer.pid = credentials->pid;
  peer.uid = credentials->uid;
  peer.gid = credentials->gid;

  int pidfd = -1;
  socklen_t length = sizeof pidfd;
  if (::getsockopt(fd_.get(), SOL_SOCKET, kPeerPidfd, &pidfd, &length) == 0) {
    peer.pidfd.reset(pidfd);
    if (!peer.pidfd.valid()) return system_failure("keep the pidfd of the peer");
    return peer;
  }
  const int sys_errno = errno;
  if (sys_errno == ENOPROTOOPT) return peer;
  // The kernels differ in how they say that the peer was reaped already.
  const bool is_gone = sys_errno == ESRCH || sys_errno == EINVAL || sys_errno == ENODATA;
  return system_failure(is_gone ? ErrorCode::kPeerDead : ErrorCode::kSystem, sys_errno,
                        "pidfd of the peer, process " + std::to_string(peer.pid));
}

Result<uid_t> PacketSocket::peer_user() const {
  const auto credentials = credentials_of(fd_.get());
  if (!credentials) return tl::unexpected<Error>(credentials.error());
  return credentials->uid;
}

std::size_t PacketSocket::unread_bytes() const noexcept {
  int bytes = 0;
  if (::ioctl(fd_.get(), SIOCOUTQ, &bytes) != 0 || bytes < 0) return 0;
  return static_cast<std::size_t>(bytes);
}

}  // namespace beeline::os
