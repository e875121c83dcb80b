#pragma once

// The packets of the control protocol as typed values. A packet is one JSON object of at most
// kMaxPacketBytes; file descriptors travel beside it and are not part of these structs.
// docs/architecture.md describes the protocol itself. JSON stays inside wire.cc.
//
// Everything here is a plain value: nothing owns anything, all functions are thread safe, none
// throws. Bytes of another process fail to parse with kProtocol for garbage (drop the peer) and
// with kInvalid for a request that is understood but wrong (answer it).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <beeline/result.h>

#include "shm/identity.h"
#include "shm/link.h"
#include "shm/status.h"
#include "src/control/roles.h"
#include "src/control/tree.h"

namespace beeline::control {

inline constexpr std::size_t kMaxPacketBytes = 64 * 1024;
inline constexpr int kMaxJsonDepth = 8;
inline constexpr std::size_t kMaxListedAgents = 64;
inline constexpr std::size_t kMaxListedLinks = 512;
inline constexpr std::size_t kMaxListedLetters = 32;
inline constexpr std::size_t kMaxLetterPreview = 64;  // bytes
// Layout of the segments, said at attach; the major and minor number of shm/segment.h.
inline constexpr std::string_view kLayoutVersion = "1.2";

// ---- Requests, from an agent or a tool to the coordinator ---------------------------------------

// Becomes an agent. fds: a pidfd of the sender if `pidfd`.
struct AttachRequest {
  std::string layout{kLayoutVersion};
  std::string name;    // empty: the coordinator makes one, and the agent is temporary
  std::string parent;  // name or pid; empty: the king
  Role role = Role::kAgent;
  bool temporary = false;  // finally dead when its process dies or detaches
  bool pidfd = false;
};

// Gives the coordinator home, status page and eventfd. `ready` true includes a `ready`.
struct ProvideRequest {
  bool ready = false;
};

// The home is complete: commit.
struct ReadyRequest {};

// Shows the link that the sender created to another agent. fds: the link.
struct OpenRequest {
  Pid to = kNoPid;
  std::uint32_t serial = 0;
  shm::LinkContract contract;
  bool again = false;  // repeated after a resume
};

// An in-link of a life that ended is drained. Answered by a `faded` announcement: then its row may
// be closed.
struct FadeRequest {
  shm::Incarnation incarnation{};
  std::uint32_t serial = 0;
  bool gone = false;  // the reader's home has forgotten it, too
};

// Asks for the announcement of an in-link once more, because its descriptors found no room. The
// answer is that announcement, or a `faded` announcement if there is no such link any more.
struct TellRequest {
  shm::Incarnation incarnation{};
  std::uint32_t serial = 0;
};

// Leaves. `empty`: serials of own links in which nothing was ever sent.
struct DetachRequest {
  std::vector<std::uint32_t> empty;
};

// Registers again after the coordinator was restarted or the socket was lost.
// fds: [pidfd,] home, status, eventfd.
struct ResumeRequest {
  AttachRequest as;
  Pid pid = kNoPid;
  shm::Incarnation incarnation{};
  Pid parent_pid = kNoPid;
  bool ready = false;
};

// The reader of a link has found impossible contents in it: the link ends. Not answered.
struct ReportRequest {
  std::string what;
  Pid pid = kNoPid;
  shm::Incarnation incarnation{};
  std::uint32_t serial = 0;
  bool unread = false;  // the reader has not accepted it, and will not ask to forget it
  bool waits = false;   // nothing is wrong with it: the reader lacks something that it needs to
                        // accept it
};

// An escalation with only the coordinator above the sender, for the coordinator's log.
struct EscalateRequest {
  std::string text;
};

// The sender waits for an agent of this name, or pid in decimal: if it is there or attaches later,
// the sender is told with a `came` announcement, once. A later request replaces this one. Not
// answered.
struct AwaitRequest {
  std::string name;
  bool process = false;  // only one that has a process
};

struct ListRequest {
  std::uint32_t from = 0;  // the first pid
};
// Asks which links to an agent count: messages in the lanes of any other link are done.
struct LinksRequest {
  Pid to = kNoPid;
  shm::Incarnation from{};
  bool released = false;  // also those that their reader may forget
};
struct StatusRequest {};
// Names, or pids in decimal.
struct RouteRequest {
  std::string from;
  std::string to;
};
struct DownRequest {};
// Ends an agent for good that is away, that is without a process. Answered by `letters`.
struct ForgetRequest {
  std::string name;    // or a pid in decimal
  bool purge = false;  // drops its messages in place of making dead letters
};

inline constexpr std::string_view kRequeueLetters = "requeue";
inline constexpr std::string_view kPurgeLetters = "purge";

// Puts a dead letter of an agent back into its inbox, or drops some. The coordinator passes this
// on to the agent, and drops the letters that it holds itself.
struct LettersRequest {
  Pid to = kNoPid;            // 0: those that the coordinator holds, purge only
  std::string what;           // kRequeueLetters or kPurgeLetters
  std::uint64_t id = 0;       // of the message; 0 = all, purge only
  Pid of = kNoPid;            // with `to` 0: the receiver of the letters; 0 = any
  std::int64_t until_ns = 0;  // CLOCK_MONOTONIC; an agent that reads it later does nothing
};
// The result of a `letters` announcement. Not answered.
struct LettersDoneRequest {
  std::uint64_t ticket = 0;
  std::uint64_t count = 0;
  std::string text;  // the reason why nothing was done; empty if something was
};
// Lists the letters that the coordinator holds, in the order in which they came.
struct KeptLettersRequest {
  std::uint64_t from = 0;  // the first number
};
// Asks for one letter, whole. Copies of a message share its id; the receiver tells them apart.
struct KeptLetterRequest {
  std::uint64_t id = 0;
  Pid to = kNoPid;
};

// Asks how much the agents of the hive record of their messages, or sets it.
struct HistoryRequest {
  std::int32_t level = -1;  // HistoryLevel; -1: only asks
};
// Shows the history of the sender's life, to be kept after its end. The sender does not wait for
// the answer. fds: the history.
struct RecordRequest {};

using Request =
    std::variant<AttachRequest, ProvideRequest, ReadyRequest, OpenRequest, FadeRequest, TellRequest,
                 DetachRequest, ResumeRequest, ReportRequest, EscalateRequest, ListRequest,
                 LinksRequest, StatusRequest, RouteRequest, DownRequest, LettersRequest,
                 LettersDoneRequest, KeptLettersRequest, KeptLetterRequest, ForgetRequest,
                 AwaitRequest, HistoryRequest, RecordRequest>;

// ---- Answers ------------------------------------------------------------------------------------

struct OkAnswer {};

struct ErrorAnswer {
  ErrorCode code = ErrorCode::kProtocol;
  std::string text;
};

// fds: directory, then the predecessor's home if `predecessor` is not 0.
struct AttachedAnswer {
  Pid pid = kNoPid;
  shm::Incarnation incarnation{};
  std::uint32_t index = 0;  // in the directory
  std::string name;         // as given, or as made by the coordinator
  Pid parent_pid = kNoPid;
  std::uint64_t epoch = 0;
  shm::Incarnation predecessor{};  // incarnation that owned the home being taken over, 0 = none
  std::uint32_t in_links = 0;      // `link` announcements that follow
};

// fds: status page of the peer and the eventfd to ring it with if `process`, then the eventfd that
// it rings us with if `foreign`.
struct OpenedAnswer {
  Pid pid = kNoPid;
  std::uint32_t index = 0;
  shm::Incarnation incarnation{};  // life of the peer that the fds belong to, or the committed one
  bool may_send = false;
  bool process = false;
  bool foreign = false;  // the peer is of another user: it does not get our own eventfd
  bool ended = false;    // the peer has found impossible contents in the link, and reads it no
                         // more
};

// fds: directory.
struct ResumedAnswer {
  std::uint32_t index = 0;
  std::uint64_t epoch = 0;
  std::uint32_t in_links = 0;       // `link` announcements that follow
  shm::Incarnation all_known_of{};  // every life from this incarnation on is known; see revive()
};

struct ListedAgent {
  std::uint32_t index = 0;  // place in the directory; for a dead agent, its last one
  Pid pid = kNoPid;
  Pid parent = kNoPid;
  std::string name;
  Role role = Role::kAgent;
  shm::AgentState state = shm::AgentState::kVacant;
  shm::Incarnation incarnation{};
  std::int32_t os_pid = 0;  // for people; 0 if it has no process
  std::uint32_t uid = 0;    // of its first life
  bool temporary = false;
  shm::AgentActivity activity = shm::AgentActivity::kIdle;  // idle unless it is running
  std::uint64_t attached_ns = 0;                            // first attach, CLOCK_REALTIME
  std::uint64_t restarts = 0;                               // lives before this one
  std::uint64_t away_ns = 0;  // since when it has no process, CLOCK_REALTIME; 0 = not known
};

struct ListAnswer {
  std::vector<ListedAgent> agents;
  std::int64_t next = -1;  // `from` of the next page, -1 = this was the last
};

// In the order of their keys; the links of one life are never on two pages.
struct LinksAnswer {
  std::vector<shm::LinkKey> links;  // in the order of incarnations
  std::int64_t next = -1;           // `from` of the next page, -1 = this was the last
};

struct StatusAnswer {
  std::string hive;
  std::string version;
  std::int32_t keeper_pid = 0;
  std::int32_t coordinator_pid = 0;
  std::string since;           // start of the hive, RFC 3339
  std::uint64_t restarts = 0;  // of the coordinator
  std::uint64_t epoch = 0;
  std::uint64_t agents = 0;  // not dead, the king included
  std::uint64_t running = 0;
  std::uint64_t away = 0;
  std::uint64_t links = 0;
  std::uint64_t clients = 0;
  std::uint64_t dropped_clients = 0;
  std::uint64_t quarantined_links = 0;  // ended by their readers, since the hive was started
  std::uint64_t dead_letters = 0;       // taken over so far
  std::uint64_t dead_letters_kept = 0;  // still held
  std::uint64_t pids_used = 0;          // pids that were given out, for good
  std::uint64_t pids_left = 0;
};

struct RouteAnswer {
  bool allowed = false;
  std::string rule;
  std::string text;
  Pid from = kNoPid;
  Pid to = kNoPid;
  Pid via = kNoPid;
};

struct LettersAnswer {
  std::uint64_t count = 0;
};

// A dead letter that the coordinator holds: its receiver has ended for good.
struct KeptLetter {
  std::uint64_t number = 0;
  std::uint64_t id = 0;
  std::uint64_t reply_to = 0;
  Pid from = kNoPid;
  std::string from_name;  // empty if it is forgotten
  Pid to = kNoPid;
  std::string to_name;
  std::string type;
  std::string channel;
  std::int32_t rank = 0;
  std::uint32_t attempts = 0;
  std::uint32_t length = 0;  // of the payload
  std::uint32_t kept = 0;    // bytes of it that are held; fewer: it was cut
  std::string reason;
  std::int64_t age_ms = 0;
  std::string preview;  // the first bytes of the payload, at most kMaxLetterPreview
  std::uint16_t hops = 0;
  std::uint64_t cause = 0;  // id of the message that led to it, 0 = none
  std::string trace;        // as in the header `traceparent`; empty = none
};

struct KeptLettersAnswer {
  std::vector<KeptLetter> letters;
  std::int64_t next = -1;  // `from` of the next page, -1 = this was the last
};

// fds: a file that starts with the `kept` bytes of the payload.
struct KeptLetterAnswer {
  KeptLetter letter;
};

struct HistoryAnswer {
  std::int32_t level = 0;  // HistoryLevel
  std::uint64_t kept = 0;  // histories that the keeper holds
  std::uint64_t most = 0;  // how many it holds at most
};

using Answer = std::variant<OkAnswer, ErrorAnswer, AttachedAnswer, OpenedAnswer, ResumedAnswer,
                            ListAnswer, LinksAnswer, StatusAnswer, RouteAnswer, LettersAnswer,
                            KeptLettersAnswer, KeptLetterAnswer, HistoryAnswer>;

// ---- Announcements, from the coordinator to an agent --------------------------------------------

// The predecessor's own link to the owner of an announced one.
struct OwnLink {
  std::uint32_t serial = 0;
  shm::LinkContract contract;
};

// fds: the link, then status page of its owner and the eventfd to ring it with if `process`, then
// the eventfd that it rings us with if `foreign`, then the predecessor's own link if `mine`.
struct LinkAnnouncement {
  Pid pid = kNoPid;
  std::string name;
  std::uint32_t index = 0;
  shm::Incarnation incarnation{};
  std::uint32_t serial = 0;
  shm::LinkContract contract;
  bool may_send = false;  // false: only the receipts of the link count
  bool process = false;
  bool foreign = false;         // the owner is of another user: it does not get our own eventfd
  std::int64_t opened_ns = 0;   // CLOCK_MONOTONIC; nothing in it was sent before
  bool released = false;        // a life of the reader was told that it may forget it
  std::optional<OwnLink> mine;  // only in a hand-over
};

// To the parent of the agent that died.
struct DiedAnnouncement {
  Pid pid = kNoPid;
  std::string name;
  shm::Incarnation incarnation{};
  shm::AgentState state = shm::AgentState::kAway;
};

// The reader of an in-link may forget its cursors. Until it has said that it did, the link is
// announced again, as `released`, to the next reader of its home.
struct FadedAnnouncement {
  shm::Incarnation incarnation{};
  std::uint32_t serial = 0;
};

// To the owner of a link: its reader `pid` has found impossible contents in it and takes nothing
// more.
struct EndedAnnouncement {
  Pid pid = kNoPid;
  shm::Incarnation incarnation{};
  std::uint32_t serial = 0;
  std::string what;
};

struct ShutdownAnnouncement {
  std::string reason;
};

// The last packet to a client that is dropped.
struct DroppedAnnouncement {
  ErrorCode code = ErrorCode::kProtocol;
  std::string text;
};

// A tool asks the agent to act on its dead letters; the agent answers with `letters_done`.
struct LettersAnnouncement {
  std::uint64_t ticket = 0;
  std::string what;  // kRequeueLetters or kPurgeLetters
  std::uint64_t id = 0;
  std::int64_t until_ns = 0;
};

// To an agent that waits for a name: an agent has it now.
struct CameAnnouncement {
  Pid pid = kNoPid;
  std::string name;  // the name that was waited for
};

using AnnouncedValue =
    std::variant<LinkAnnouncement, DiedAnnouncement, FadedAnnouncement, EndedAnnouncement,
                 ShutdownAnnouncement, DroppedAnnouncement, LettersAnnouncement, CameAnnouncement>;

// ---- Text ---------------------------------------------------------------------------------------

struct IncomingRequest {
  std::uint64_t seq = 0;
  std::string op;
  Result<Request> request;  // kInvalid: an unknown op or a wrong field, to be answered
};

// A packet that a client receives: an answer, which has a `seq`, or an announcement.
struct IncomingAnswer {
  std::uint64_t seq = 0;
  Answer answer;
};
using FromCoordinator = std::variant<IncomingAnswer, AnnouncedValue>;

// REQUIRES: the strings of the value fit a packet; text that is not UTF-8 is replaced.
[[nodiscard]] std::string build(const Request& request, std::uint64_t seq);
[[nodiscard]] std::string build(const Answer& answer, std::uint64_t seq);
[[nodiscard]] std::string build(const AnnouncedValue& announcement);

// Parses a packet of a client. Errors: kTooBig (the limit and the length), kProtocol (no JSON, too
// deep, no object, no op or seq).
[[nodiscard]] Result<IncomingRequest> parse_request(std::string_view text);

// Parses a packet of the coordinator. Errors: kTooBig, kProtocol.
[[nodiscard]] Result<FromCoordinator> parse_from_coordinator(std::string_view text);

// The code that a word of the wire names; kProtocol for an unknown one.
[[nodiscard]] ErrorCode error_code_from(std::string_view word) noexcept;

}  // namespace beeline::control
