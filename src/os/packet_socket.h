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

/// One packet. It owns its descriptors; those not taken out are closed with it.
struct Packet {
  std::string text;
  std::vector<UniqueFd> fds;
  bool lost_fds = false;  ///< not all that belong to it have arrived; see LostFds
};

/// How a packet is received whose descriptors found no room, here or in the packet.
enum class LostFds : std::uint8_t {
  kFail,  ///< kProtocol; the packet is lost
  kTell,  ///< it is handed out with `lost_fds` and without descriptors
};

/// Who is at the other end, said by the kernel when the connection was made.
struct PeerIdentity {
  pid_t pid = 0;  ///< as seen from our pid namespace, 0 if it is not visible there
  uid_t uid = 0;
  gid_t gid = 0;
  UniqueFd pidfd;  ///< none if the kernel has no SO_PEERPIDFD: see check_pidfd() in pid_fd.h
};

inline constexpr std::size_t kMaxPacketFds = 16;
/// Connections that wait for accept(): a restarted coordinator finds all its agents among them.
inline constexpr int kBacklog = 4096;
inline constexpr int kSocketBufferBytes = 1 << 20;
inline constexpr std::chrono::nanoseconds kDefaultSendTimeout = std::chrono::seconds(5);
inline constexpr std::chrono::nanoseconds kConnectTimeout = std::chrono::seconds(5);

/// One end of a packet connection, or a listener. Moved-from and default objects are closed. Not
/// thread safe but for one sender beside one receiver.
class PacketSocket {
 public:
  PacketSocket() noexcept = default;

  /// Takes the name `path` for a listener, which must not exist (removing a stale one is the
  /// caller's job, under the lock file). Paths longer than 107 bytes work as long as the last
  /// component has at most 80. Access is ruled by the mode of the socket file: set umask or chmod.
  /// Errors: kAlreadyRunning (the path exists), kInvalid (path), kSystem.
  [[nodiscard]] static Result<PacketSocket> bind(const std::string& path);

  /// From here on others can connect to what bind() has made; before, they are refused. Errors:
  /// kSystem.
  [[nodiscard]] Result<void> start_listening();

  /// Both at once. Errors as bind().
  [[nodiscard]] static Result<PacketSocket> listen(const std::string& path);

  /// Connects to a listener, waiting at most kConnectTimeout for a place in its queue. Errors:
  /// kNoCoordinator (nobody listens), kDenied (permissions), kTimeout, kInvalid (path), kSystem.
  [[nodiscard]] static Result<PacketSocket> connect(const std::string& path);

  /// Two ends that are connected. Errors: kSystem.
  [[nodiscard]] static Result<std::pair<PacketSocket, PacketSocket>> pair();

  /// Takes ownership of a connected or listening packet socket (one kept over exec, say) and makes
  /// it non-blocking and closed on exec. Errors: kInvalid (something else), kSystem; `fd` is then
  /// closed.
  [[nodiscard]] static Result<PacketSocket> from_fd(UniqueFd fd);

  /// Takes the next waiting connection of a listener, nullopt if there is none. Errors: kSystem
  /// (EMFILE: the connection stays in the queue, and the listener stays readable).
  [[nodiscard]] Result<std::optional<PacketSocket>> accept();

  /// Sends one packet, waiting for room at most for `timeout`. The caller keeps its descriptors,
  /// which it may close at once. Errors: kInvalid (empty text, over kMaxPacketFds), kTimeout,
  /// kClosed, kTooBig (limit of the socket buffer), kFull (descriptors in flight), kSystem.
  [[nodiscard]] Result<void> send(std::string_view text, std::span<const int> fds = {},
                                  std::chrono::nanoseconds timeout = kDefaultSendTimeout);

  /// Sends one packet without waiting; false if there is no room now. Errors as send().
  [[nodiscard]] Result<bool> try_send(std::string_view text, std::span<const int> fds = {});

  /// Takes one packet of at most `max_bytes`, nullopt if none waits. A packet that is larger, or
  /// whose descriptors did not all fit (over kMaxPacketFds, or our limit of open files is reached),
  /// is lost and its descriptors are closed: kProtocol; drop the peer. With LostFds::kTell the text
  /// of the second kind is handed out. Errors: kClosed, kProtocol, kSystem.
  [[nodiscard]] Result<std::optional<Packet>> try_receive(std::size_t max_bytes,
                                                          LostFds lost = LostFds::kFail);

  /// The same, waiting at most for `timeout` (nanoseconds::max() means for ever); nullopt after it.
  [[nodiscard]] Result<std::optional<Packet>> receive(std::size_t max_bytes,
                                                      std::chrono::nanoseconds timeout);

  /// Who is at the other end. For an accepted socket this is who called connect(), for a connected
  /// one who called listen(). Errors: kPeerDead (ended and reaped before we asked), kSystem.
  [[nodiscard]] Result<PeerIdentity> peer_identity() const;
  /// Its user alone, also of a peer that has ended. Errors: kSystem.
  [[nodiscard]] Result<uid_t> peer_user() const;

  /// The descriptor, still owned by this object; -1 if closed. For polling and for sending on.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  [[nodiscard]] bool valid() const noexcept { return fd_.valid(); }
  /// Whatever the peer sends from here on fails there; what has arrived can still be taken.
  void refuse_more() noexcept;
  /// Nothing is sent over it any more, in either direction; what has arrived can still be taken.
  void end() noexcept;
  /// Closes it; the peer finds kClosed after the packets that are under way.
  void close() noexcept { fd_.reset(); }
  /// How much memory of what was sent the peer has not read yet; 0: it has read all, or the kernel
  /// does not say.
  [[nodiscard]] std::size_t unread_bytes() const noexcept;

  /// Gives up ownership.
  [[nodiscard]] UniqueFd release() noexcept { return std::move(fd_); }

 private:
  explicit PacketSocket(UniqueFd fd) noexcept : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

}  // namespace beeline::os
