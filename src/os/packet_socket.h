#pragma once

// Control packets between processes: SOCK_SEQPACKET, so a packet arrives whole or not at all, with
// file descriptors beside it. All sockets are non-blocking; calls that wait do so by poll.

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <beeline/result.h>

#include "src/os/fd.h"

namespace beeline::os {

// One packet. It owns its descriptors; those not taken out are closed with it.
struct Packet {
  std::string text;
  std::vector<UniqueFd> fds;
  bool lost_fds = false;  // some of its descriptors did not arrive; see LostFds
};

// How to receive a packet if its descriptors found no room, here or in the packet.
enum class LostFds : std::uint8_t {
  kFail,  // kProtocol; the packet is lost
  kTell,  // it is handed out with `lost_fds` and without descriptors
};

// The process at the other end, as the kernel recorded it when the connection was made.
struct PeerIdentity {
  pid_t pid = 0;  // as seen from our pid namespace, 0 if it is not visible there
  uid_t uid = 0;
  gid_t gid = 0;
  UniqueFd pidfd;  // none if the kernel has no SO_PEERPIDFD: see check_pidfd() in pid_fd.h
};

inline constexpr std::size_t kMaxPacketFds = 16;

// Sends one packet over any connected local socket, with descriptors beside it. Returns what
// sendmsg() returns, without SIGPIPE; more than kMaxPacketFds descriptors are EINVAL.
[[nodiscard]] ssize_t send_packet(int socket, std::string_view text, std::span<const int> fds,
                                  int flags) noexcept;
// Most connections that may wait for accept(): a restarted coordinator finds all its agents among
// them.
inline constexpr int kBacklog = 4096;
inline constexpr int kSocketBufferBytes = 1 << 20;
inline constexpr std::chrono::nanoseconds kDefaultSendTimeout = std::chrono::seconds(5);
inline constexpr std::chrono::nanoseconds kConnectTimeout = std::chrono::seconds(5);

// One end of a packet connection, or a listener. Moved-from and default objects are closed. Not
// thread safe, except for one sending thread beside one receiving thread.
class PacketSocket {
 public:
  PacketSocket() noexcept = default;

  // Binds a listener to the name `path`, which must not exist (removing a stale one is the
  // caller's job, under the lock file). Paths longer than 107 bytes work if the last component has
  // at most 80. The mode of the socket file rules the access: set umask or chmod. Errors:
  // kAlreadyRunning (the path exists), kInvalid (path), kSystem.
  [[nodiscard]] static Result<PacketSocket> bind(const std::string& path);

  // Lets others connect to a socket of bind(); before, the kernel refuses them. Errors: kSystem.
  [[nodiscard]] Result<void> start_listening();

  // Does bind() and start_listening(). Errors as bind().
  [[nodiscard]] static Result<PacketSocket> listen(const std::string& path);

  // Connects to a listener, waiting at most kConnectTimeout for a place in its queue. Errors:
  // kNoCoordinator (no process listens), kDenied (permissions), kTimeout, kInvalid (path),
  // kSystem.
  [[nodiscard]] static Result<PacketSocket> connect(const std::string& path);

  // Two ends that are connected. Errors: kSystem.
  [[nodiscard]] static Result<std::pair<PacketSocket, PacketSocket>> pair();

  // Takes ownership of a connected or listening packet socket (one kept over exec, say) and makes
  // it non-blocking and closed on exec. Errors: kInvalid (another kind of descriptor), kSystem;
  // `fd` is then closed.
  [[nodiscard]] static Result<PacketSocket> from_fd(UniqueFd fd);

  // Takes the next waiting connection of a listener, nullopt if there is none. Errors: kSystem
  // (EMFILE: the connection stays in the queue, and the listener stays readable).
  [[nodiscard]] Result<std::optional<PacketSocket>> accept();

  // Sends one packet, waiting for room at most for `timeout`. The caller keeps its descriptors,
  // which it may close at once. Errors: kInvalid (empty text, over kMaxPacketFds), kTimeout,
  // kClosed, kTooBig (limit of the socket buffer), kFull (descriptors in flight), kSystem.
  [[nodiscard]] Result<void> send(std::string_view text, std::span<const int> fds = {},
                                  std::chrono::nanoseconds timeout = kDefaultSendTimeout);

  // Sends one packet without waiting; false if there is no room now. Errors as send().
  [[nodiscard]] Result<bool> try_send(std::string_view text, std::span<const int> fds = {});

  // Takes one packet of at most `max_bytes`, nullopt if none waits. A larger packet is lost, and
  // so is one with descriptors that did not all fit (over kMaxPacketFds, or beyond our limit of
  // open files). Its descriptors are closed: kProtocol; drop the peer. With LostFds::kTell the
  // text of the second kind is handed out. Errors: kClosed, kProtocol, kSystem.
  [[nodiscard]] Result<std::optional<Packet>> try_receive(std::size_t max_bytes,
                                                          LostFds lost = LostFds::kFail);

  // Does as try_receive(), but waits at most for `timeout` (nanoseconds::max() means for ever);
  // nullopt after it.
  [[nodiscard]] Result<std::optional<Packet>> receive(std::size_t max_bytes,
                                                      std::chrono::nanoseconds timeout);

  // The process at the other end: for an accepted socket the one that called connect(), for a
  // connected socket the one that called listen(). Errors: kPeerDead (ended and reaped before we
  // asked), kSystem.
  [[nodiscard]] Result<PeerIdentity> peer_identity() const;
  // The user of the other end, also of a peer that has ended. Errors: kSystem.
  [[nodiscard]] Result<uid_t> peer_user() const;

  // The descriptor, still owned by this object; -1 if closed. For polling and for sending on.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  [[nodiscard]] bool valid() const noexcept { return fd_.valid(); }
  // Refuses further packets: they fail at the peer. Packets that have arrived can still be taken.
  void refuse_more() noexcept;
  // Ends the connection in both directions. Packets that have arrived can still be taken.
  void end() noexcept;
  // Closes it; the peer finds kClosed after the packets that are under way.
  void close() noexcept { fd_.reset(); }
  // Bytes that the peer has not read yet, in memory of the socket. 0: it has read all, or the
  // kernel does not say.
  [[nodiscard]] std::size_t unread_bytes() const noexcept;

  // Gives up ownership.
  [[nodiscard]] UniqueFd release() noexcept { return std::move(fd_); }

 private:
  explicit PacketSocket(UniqueFd fd) noexcept : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

}  // namespace beeline::os
