#pragma once

// An agent's or a tool's end of the control socket. It asks, waits for the answer, and keeps
// announcements that the coordinator sends meanwhile. See docs/architecture.md for the order of the
// calls.

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
#include "src/control/pending_answers.h"
#include "src/control/wire.h"
#include "src/os/fd.h"
#include "src/os/packet_socket.h"

namespace beeline::control {

inline constexpr std::chrono::nanoseconds kDefaultDeadline = std::chrono::seconds(10);

struct ClientOptions {
  std::string hive;                                      // empty: $BEELINE_HIVE, else "default"
  bool start = true;                                     // start the coordinator if none listens
  std::chrono::nanoseconds deadline = kDefaultDeadline;  // for each call, connect included; while
                                                         // the machine stands still it does too
};

// The typed results: the fields of the answer and the descriptors that came with it, owned.

struct Attached : AttachedAnswer {
  os::UniqueFd directory;
  os::UniqueFd home;  // of the predecessor, read-only use; none if `predecessor` is 0
};
struct Opened : OpenedAnswer {
  os::UniqueFd status;  // of the peer; none unless `process`
  os::UniqueFd event;   // to ring the peer with
  os::UniqueFd bell;    // the peer rings us with it; none unless `foreign`
};
struct Resumed : ResumedAnswer {
  os::UniqueFd directory;
};

// A link that arrived has no descriptors if they found no room: none could be received, or only
// with numbers that are kept for this process (os::first_own_fd()). The link can be announced
// again: tell().
struct AnnouncedLink : LinkAnnouncement {
  os::UniqueFd link;
  os::UniqueFd status;     // of the link's owner; none unless `process`
  os::UniqueFd event;      // to ring the owner with
  os::UniqueFd bell;       // the owner rings us with it; none unless `foreign`
  os::UniqueFd mine_link;  // none unless `mine`
};
using Announcement = std::variant<AnnouncedLink, DiedAnnouncement, FadedAnnouncement,
                                  EndedAnnouncement, ShutdownAnnouncement, DroppedAnnouncement,
                                  LettersAnnouncement, CameAnnouncement, LifeAnnouncement>;

// One connection, of one thread; only peek_link() may be called by others. Every call has a
// deadline. A call that fails with kTimeout or kClosed leaves the connection closed(), and the
// caller reconnects. Errors of every call: those of the coordinator, listed with each; kTimeout,
// kClosed (the coordinator has gone), kProtocol, kSystem. Descriptors that are handed in stay with
// the caller.
class Client {
 public:
  Client() noexcept = default;

  // Connects, starting the coordinator first if `start` and none listens. Errors: kNoCoordinator
  // (names the socket and `beeline up`), kInvalid (name of the hive), kDenied, kTimeout, kSystem.
  [[nodiscard]] static Result<Client> connect(const ClientOptions& options = {});

  // Replaces the connection. Discards waiting announcements of the old one, because the
  // coordinator repeats them after a resume. Never starts a coordinator unless `options.start`.
  [[nodiscard]] Result<void> reconnect();

  // Replaces the connection without trusting that a coordinator answers: connects, asks, and
  // returns true once an answer has come. Waits at most `patience`; call again on false. closed()
  // stays true until then.
  [[nodiscard]] Result<bool> try_reconnect(std::chrono::nanoseconds patience);

  // Sends a request and waits for its answer; announcements that arrive meanwhile are kept. An
  // `error` answer becomes the error of the result.
  [[nodiscard]] Result<RawAnswer> request(const Request& request, std::span<const int> fds = {});

  // The same in two steps, neither of which waits. ask() sends the request and returns the number
  // of its answer; kFull: no room in the socket now. try_next() reads the answer, and take_answer()
  // returns it once; nothing while it may still come; kClosed: the connection has ended since, and
  // the question with it.
  [[nodiscard]] Result<std::uint64_t> ask(const Request& request, std::span<const int> fds = {});
  [[nodiscard]] Result<std::uint64_t> ask_open(const OpenRequest& request, int link);
  [[nodiscard]] std::optional<Result<RawAnswer>> take_answer(std::uint64_t seq);
  [[nodiscard]] std::optional<Result<Opened>> take_opened(std::uint64_t seq);
  // Nobody takes it any more.
  void forget_answer(std::uint64_t seq);

  // An agent calls these; fds are borrowed.
  // kAlreadyRunning: an agent of that name lives. kNoAgent: the parent. kWrongVersion: the layout.
  // kInvalid: a name that is none.
  [[nodiscard]] Result<Attached> attach(AttachRequest request);
  // kBadSegment: a segment is not sealed as it must be.
  [[nodiscard]] Result<void> provide(int home, int status, int event, bool ready);
  [[nodiscard]] Result<void> ready();
  // kNoAgent, kPeerDead, kDenied (the text is the rule's), kBadSegment, kFull.
  [[nodiscard]] Result<Opened> open(const OpenRequest& request, int link);
  // Says that an in-link of a life that ended is drained and unmapped. Does not wait: the answer
  // is a FadedAnnouncement; kFull: no room in the socket now. Keep the cursor of the link until
  // the answer comes, because a restarted coordinator announces the link again; after a resume
  // send the open fades again. `gone`: this agent has forgotten the cursor, too.
  [[nodiscard]] Result<void> fade(shm::Incarnation incarnation, std::uint32_t serial,
                                  bool gone = false);
  // Asks for the announcement of a link once more. Does not wait; kFull: no room in the socket
  // now.
  [[nodiscard]] Result<void> tell(shm::Incarnation incarnation, std::uint32_t serial);
  // Asks to be told of an agent of this name. Does not wait; a restarted coordinator does not know
  // of the wait. kFull: no room in the socket now.
  [[nodiscard]] Result<void> await_name(const AwaitRequest& request) {
    const std::lock_guard lock(*mutex_);
    return post_unheard(request);
  }
  // Shows the coordinator the history of this life. Does not wait: take_answer() has the answer.
  // kFull: no room in the socket now.
  [[nodiscard]] Result<std::uint64_t> ask_record(int history) {
    return ask(RecordRequest{}, {&history, 1});
  }
  [[nodiscard]] Result<void> detach(std::vector<std::uint32_t> empty);
  // Registers again. `home` is -1 if nothing was provided yet. kPeerDead: this incarnation was
  // ended (fenced, or another life took over).
  [[nodiscard]] Result<Resumed> resume(ResumeRequest request, int home, int status, int event);
  // Does not wait and gets no answer. kFull: no room in the socket now, try later.
  [[nodiscard]] Result<void> report(const ReportRequest& request);
  [[nodiscard]] Result<void> escalate(std::string text);
  // Does not wait and gets no answer, like report(). Tools ask with the functions of
  // letters_client.h.
  [[nodiscard]] Result<void> letters_done(const LettersDoneRequest& request);

  // Any process may call these.
  [[nodiscard]] Result<ListAnswer> list(std::uint32_t from = 0);
  // All pages of list().
  [[nodiscard]] Result<std::vector<ListedAgent>> list_all();
  // All in-links of an agent that it may not forget yet and, on request, those that it may forget
  // but still has. Empty for an unknown pid.
  [[nodiscard]] Result<std::vector<shm::LinkKey>> links_to(Pid reader, bool also_released = false);
  [[nodiscard]] Result<StatusAnswer> status();
  [[nodiscard]] Result<RouteAnswer> route(const std::string& from, const std::string& to);
  // Ends an agent for good that is away, and returns when its place is free. Returns how many
  // messages it left. kAlreadyRunning: it has a process. kNoAgent, kPeerDead, kDenied.
  [[nodiscard]] Result<std::uint64_t> forget(const std::string& name, bool purge = false);
  // Returns once coordinator and keeper have ended and the socket is gone, or at the deadline.
  [[nodiscard]] Result<void> down();

  // The next announcement if one has arrived. Never blocks. After the connection broke it still
  // yields announcements that had arrived; then closed() is true.
  [[nodiscard]] std::optional<Announcement> try_next();
  // The newest link of this owner that was announced and not yet fetched with try_next(), with
  // descriptors of its own except `bell`; nothing if there is none, or while another call waits
  // for its answer. Never blocks. Any thread.
  [[nodiscard]] std::optional<AnnouncedLink> peek_link(Pid owner);

  // True once the connection is broken or was never made: an agent reconnects and resumes.
  [[nodiscard]] bool closed() const;
  // Becomes readable when the coordinator sends; -1 when closed. It does not show announcements
  // that try_next() holds already: drain those before you block.
  [[nodiscard]] int fd() const noexcept { return socket_.fd(); }
  [[nodiscard]] const std::string& socket_path() const noexcept { return socket_path_; }
  // The process id of the keeper in our pid namespace; 0 if the keeper is not visible there, or we
  // are not connected.
  [[nodiscard]] pid_t keeper_pid() const;
  // The name of the hive, and the directory of its files.
  [[nodiscard]] const std::string& hive() const noexcept { return options_.hive; }
  [[nodiscard]] const std::string& directory() const noexcept { return directory_; }
  // True if connect() has started the hive: it did not run before.
  [[nodiscard]] bool has_started() const noexcept { return starting_.was_done; }
  // Ends the connection. try_next() still yields announcements that had arrived, except links:
  // those are announced again after a resume, and their places are in a directory that the agent
  // may not have mapped.
  void close();
  // Says if reconnect() may start a coordinator. An agent that outlives `down` must not.
  void start_on_reconnect(bool start) noexcept { starting_.wanted = start; }
  [[nodiscard]] std::chrono::nanoseconds deadline() const noexcept { return options_.deadline; }
  // Sets the deadline of every call from now on.
  void set_deadline(std::chrono::nanoseconds deadline) noexcept {
    options_.deadline = starting_.deadline = deadline;
  }

 private:
  // Reads packets that have arrived, as far as one call may take; true if more may wait. A failure
  // closes the connection.
  bool collect();
  // Sends a request without waiting for its answer; returns its seq.
  Result<std::uint64_t> post(const Request& request, std::span<const int> fds = {});
  // Sends a request without waiting if the socket has room, else fails with kFull; the connection
  // stays.
  Result<std::uint64_t> post_now(const Request& request, std::span<const int> fds = {});
  // The same of a request that gets no answer.
  Result<void> post_unheard(const Request& request) {
    auto sent = post_now(request);
    if (!sent) return tl::unexpected(std::move(sent.error()));
    return {};
  }
  static Result<Opened> opened_of(Result<RawAnswer> raw);
  Result<RawAnswer> wait_for_answer(std::uint64_t seq, std::chrono::nanoseconds left);
  [[nodiscard]] Error no_answer() const;
  // Returns the answer to `seq`; announcements go to the queue, other answers are dropped.
  Result<std::optional<RawAnswer>> sort(os::Packet packet, std::uint64_t seq);
  Result<void> keep_announcement(AnnouncedValue value, std::span<os::UniqueFd> fds, bool lost_fds);
  [[nodiscard]] bool may_keep(std::span<const os::UniqueFd> fds) const;
  Result<void> expect_ok(const Request& wanted, std::span<const int> fds = {});
  [[nodiscard]] Error why_closed(Error error) const;
  void keep_what_arrived();
  // Keeps the announcements that have arrived and closes the connection.
  void hang_up();
  // Closes likewise; returns the error, or the coordinator's last words if it dropped us.
  tl::unexpected<Error> broken(Error error);

  ClientOptions options_;
  std::string socket_path_;
  std::string directory_;
  Starting starting_;
  os::PacketSocket socket_;
  os::PacketSocket candidate_;  // connected and asked, not answered yet
  std::uint64_t next_seq_ = 1;
  std::deque<Announcement> announcements_;
  PendingAnswers pending_;
  bool takes_over_ = false;  // the descriptors of a predecessor's links are all accepted
  // Locked by every call that uses the connection. Behind a pointer, so that clients can be moved.
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
};

}  // namespace beeline::control
