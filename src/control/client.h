#pragma once

// An agent's or a tool's end of the control socket. It asks, waits for the answer, and keeps what
// the coordinator announces meanwhile. See docs/architecture.md for the order of the calls.

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <beeline/result.h>

#include "src/control/hive_start.h"
#include "src/control/wire.h"
#include "src/os/fd.h"
#include "src/os/packet_socket.h"

namespace beeline::control {

inline constexpr std::chrono::nanoseconds kDefaultDeadline = std::chrono::seconds(10);

struct ClientOptions {
  std::string hive;   ///< empty: $BEELINE_HIVE, else "default"
  bool start = true;  ///< start the coordinator if nobody listens
  std::chrono::nanoseconds deadline = kDefaultDeadline;  ///< for each call, connect included; while
                                                         ///< the machine stands still it does too
};

// The typed results: the fields of the answer and the descriptors that came with it, owned.

struct Attached : AttachedAnswer {
  os::UniqueFd directory;
  os::UniqueFd home;  ///< of the predecessor, read-only use; none if `predecessor` is 0
};
struct Opened : OpenedAnswer {
  os::UniqueFd status;  ///< of the peer; none unless `process`
  os::UniqueFd event;   ///< to ring it with
  os::UniqueFd bell;    ///< that it rings us with; none unless `foreign`
};
struct Resumed : ResumedAnswer {
  os::UniqueFd directory;
};

/// Without any descriptor where they found no room: none, or none but those that are the process's
/// own (os::first_own_fd()). It can be announced again: tell().
struct AnnouncedLink : LinkAnnouncement {
  os::UniqueFd link;
  os::UniqueFd status;     ///< of the link's owner; none unless `process`
  os::UniqueFd event;      ///< to ring it with
  os::UniqueFd bell;       ///< that it rings us with; none unless `foreign`
  os::UniqueFd mine_link;  ///< none unless `mine`
};
using Announcement =
    std::variant<AnnouncedLink, DiedAnnouncement, FadedAnnouncement, EndedAnnouncement,
                 ShutdownAnnouncement, DroppedAnnouncement, LettersAnnouncement, CameAnnouncement>;

/// An answer that is not typed yet, with its descriptors.
struct RawAnswer {
  Answer answer;
  std::vector<os::UniqueFd> fds;
};

/// One connection, of one thread; peek_link() alone may be called by others. Every call has a
/// deadline; a call that fails with kTimeout or kClosed leaves the connection closed(), and the
/// caller reconnects. Errors of every call: those of the coordinator, said beside each; kTimeout,
/// kClosed (the coordinator has gone), kProtocol, kSystem. Descriptors that are handed in stay with
/// the caller.
class Client {
 public:
  Client() noexcept = default;

  /// Connects, starting the coordinator first if `start` and nobody listens. Errors: kNoCoordinator
  /// (names the socket and `beeline up`), kInvalid (name of the hive), kDenied, kTimeout, kSystem.
  [[nodiscard]] static Result<Client> connect(const ClientOptions& options = {});

  /// Replaces the connection; waiting announcements of the old one are discarded, since the
  /// coordinator repeats them after a resume. Never starts a coordinator unless `options.start`.
  [[nodiscard]] Result<void> reconnect();

  /// The same without trusting that anybody answers: connects, asks, and replaces the connection
  /// once an answer has come (true). Waits at most `patience`; call again on false. closed() stays
  /// true until then.
  [[nodiscard]] Result<bool> try_reconnect(std::chrono::nanoseconds patience);

  /// Sends a request and waits for its answer; announcements that arrive meanwhile are kept. An
  /// `error` answer becomes the error of the result.
  [[nodiscard]] Result<RawAnswer> request(const Request& request, std::span<const int> fds = {});

  // An agent calls these; fds are borrowed.
  /// kAlreadyRunning: an agent of that name lives. kNoAgent: the parent. kWrongVersion: the layout.
  /// kInvalid: a name that is none.
  [[nodiscard]] Result<Attached> attach(AttachRequest request);
  /// kBadSegment: a segment is not sealed as it must be.
  [[nodiscard]] Result<void> provide(int home, int status, int event, bool ready);
  [[nodiscard]] Result<void> ready();
  /// kNoAgent, kPeerDead, kDenied (the text is the rule's), kBadSegment, kFull.
  [[nodiscard]] Result<Opened> open(const OpenRequest& request, int link);
  /// Says that an in-link of a life that ended is drained and unmapped. Does not wait: the answer
  /// is a FadedAnnouncement; kFull: no room in the socket now. Keep the cursor of the link until it
  /// comes, because a restarted coordinator announces the link again; after a resume send the open
  /// fades again.
  /// `gone`: the cursor was forgotten, too.
  [[nodiscard]] Result<void> fade(std::uint64_t incarnation, std::uint32_t serial,
                                  bool gone = false);
  /// Asks for the announcement of a link once more. Does not wait; kFull: no room in the socket
  /// now.
  [[nodiscard]] Result<void> tell(std::uint64_t incarnation, std::uint32_t serial);
  /// Asks to be told of an agent of this name. Does not wait, and a coordinator that is restarted
  /// knows nothing of it; kFull: no room in the socket now.
  [[nodiscard]] Result<void> await_name(const AwaitRequest& request) {
    const std::lock_guard lock(*mutex_);
    return post_now(request);
  }
  [[nodiscard]] Result<void> detach(std::vector<std::uint32_t> empty);
  /// Registers again. `home` is -1 if nothing was provided yet. kPeerDead: this incarnation was
  /// ended (fenced, or somebody took over).
  [[nodiscard]] Result<Resumed> resume(ResumeRequest request, int home, int status, int event);
  /// Does not wait and is not answered. kFull: no room in the socket now, try later.
  [[nodiscard]] Result<void> report(const ReportRequest& request);
  [[nodiscard]] Result<void> escalate(std::string text);
  /// The same. Tools ask with the functions of letters_client.h.
  [[nodiscard]] Result<void> letters_done(const LettersDoneRequest& request);

  // Anyone calls these.
  [[nodiscard]] Result<ListAnswer> list(std::uint32_t from = 0);
  /// All pages of list().
  [[nodiscard]] Result<std::vector<ListedAgent>> list_all();
  /// All in-links of an agent that it may not forget yet, and, if wanted, those that it may: the
  /// coordinator keeps them until it has. None of a pid that nobody has.
  [[nodiscard]] Result<std::vector<shm::LinkKey>> links_to(Pid reader, bool also_released = false);
  [[nodiscard]] Result<StatusAnswer> status();
  [[nodiscard]] Result<RouteAnswer> route(const std::string& from, const std::string& to);
  /// Ends an agent for good that is away, and returns when its place is free: how many messages it
  /// left. kAlreadyRunning: it has a process. kNoAgent, kPeerDead, kDenied.
  [[nodiscard]] Result<std::uint64_t> forget(const std::string& name, bool purge = false);
  /// Returns once coordinator and keeper have ended and the socket is gone, or at the deadline.
  [[nodiscard]] Result<void> down();

  /// The next announcement if one has arrived. Never blocks. After the connection broke it still
  /// yields what had arrived; then closed() is true.
  [[nodiscard]] std::optional<Announcement> try_next();
  /// The newest link of this owner that has been announced and not been fetched with try_next(),
  /// with descriptors of its own, but for `bell`; nothing if there is none, or while another call
  /// waits for its answer. Never blocks. Any thread.
  [[nodiscard]] std::optional<AnnouncedLink> peek_link(Pid owner);

  /// True once the connection is broken or was never made: an agent reconnects and resumes.
  [[nodiscard]] bool closed() const;
  /// Becomes readable when the coordinator sends; -1 when closed. Announcements that try_next()
  /// holds already do not show here: drain it before you block.
  [[nodiscard]] int fd() const noexcept { return socket_.fd(); }
  [[nodiscard]] const std::string& socket_path() const noexcept { return socket_path_; }
  /// The process number of the keeper as our pid namespace counts; 0 if the keeper is not visible
  /// there, or nobody is connected.
  [[nodiscard]] pid_t keeper_pid() const;
  /// The name of the hive, and the directory in which its files lie.
  [[nodiscard]] const std::string& hive() const noexcept { return options_.hive; }
  [[nodiscard]] const std::string& directory() const noexcept { return directory_; }
  /// Whether connect() has started the hive: nobody ran it before.
  [[nodiscard]] bool has_started() const noexcept { return starting_.was_done; }
  /// Ends the connection. try_next() still yields what had arrived, but for links: those are
  /// announced again after a resume, and their places are of a directory that the agent may not
  /// have mapped.
  void close();
  /// Whether reconnect() may start a coordinator. An agent that outlives `down` must not.
  void start_on_reconnect(bool start) noexcept { starting_.wanted = start; }
  [[nodiscard]] std::chrono::nanoseconds deadline() const noexcept { return options_.deadline; }
  /// Of every call from now on.
  void set_deadline(std::chrono::nanoseconds deadline) noexcept {
    options_.deadline = starting_.deadline = deadline;
  }

 private:
  /// Reads what has arrived, as far as one call may take: true if more may wait. A failure closes
  /// the connection.
  bool collect();
  /// Sends a request without waiting for its answer; returns its seq.
  Result<std::uint64_t> post(const Request& request, std::span<const int> fds = {});
  /// The same where the socket has room, else kFull; the connection stays.
  Result<void> post_now(const Request& request);
  Result<RawAnswer> wait_for_answer(std::uint64_t seq, std::chrono::nanoseconds left);
  [[nodiscard]] Error no_answer() const;
  /// Returns the answer to `seq`; announcements go to the queue, other answers are dropped.
  Result<std::optional<RawAnswer>> sort(os::Packet packet, std::uint64_t seq);
  Result<void> keep_announcement(AnnouncedValue value, std::span<os::UniqueFd> fds, bool lost_fds);
  [[nodiscard]] bool may_keep(std::span<const os::UniqueFd> fds) const;
  Result<void> expect_ok(const Request& wanted, std::span<const int> fds = {});
  [[nodiscard]] Error why_closed(Error error) const;
  void keep_what_arrived();
  /// Closes the connection, once the announcements that have arrived are kept.
  void hang_up();
  /// The same; returns the error, or what the coordinator has said last if it dropped us.
  tl::unexpected<Error> broken(Error error);

  ClientOptions options_;
  std::string socket_path_;
  std::string directory_;
  Starting starting_;
  os::PacketSocket socket_;
  os::PacketSocket candidate_;  // asked, and not answered yet
  std::uint64_t next_seq_ = 1;
  std::deque<Announcement> announcements_;
  bool takes_over_ = false;  // what the predecessor held is let in whole
  // Held by every call that uses the connection; behind a pointer, so that clients can be moved.
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
};

}  // namespace beeline::control
