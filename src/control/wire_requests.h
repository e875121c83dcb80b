#pragma once

// The requests of agents and tools to the coordinator. See wire.h.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "shm/identity.h"
#include "shm/link.h"
#include "src/control/roles.h"
#include "src/control/tree.h"

namespace beeline::control {

// Layout of the segments, said at attach; the major and minor number of shm/segment.h.
inline constexpr std::string_view kLayoutVersion = "1.2";

// Becomes an agent. fds: a pidfd of the sender if `pidfd`.
struct AttachRequest {
  std::string layout{kLayoutVersion};
  std::string name;    // empty: the coordinator makes one, and the agent is temporary
  std::string parent;  // name or pid; empty: the king
  Role role = Role::kAgent;
  bool temporary = false;  // finally dead when its process dies or detaches
  bool pidfd = false;
  std::string ticket;  // of a reserved agent; counts if `name` is its name or empty
  std::string secret;  // the keeper's, for the name of the king
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
// `secret`: from pid 1, all processes of the hive have ended.
struct DownRequest {
  std::string secret;
};
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

// From pid 1, over any connection. Reserves an agent for a process that is about to start.
struct ReserveRequest {
  std::string secret;
  Pid pid = kNoPid;  // an agent without a process; none: makes one of the fields below
  std::string name;
  Pid parent = kKingPid;
  Role role = Role::kWorker;
  std::uint32_t uid = 0;  // the user whose process may attach
};

// From pid 1. This connection hears of the lives of all agents; an earlier one does no more.
struct WatchRequest {
  std::string secret;
};

using Request =
    std::variant<AttachRequest, ProvideRequest, ReadyRequest, OpenRequest, FadeRequest, TellRequest,
                 DetachRequest, ResumeRequest, ReportRequest, EscalateRequest, ListRequest,
                 LinksRequest, StatusRequest, RouteRequest, DownRequest, LettersRequest,
                 LettersDoneRequest, KeptLettersRequest, KeptLetterRequest, ForgetRequest,
                 AwaitRequest, HistoryRequest, RecordRequest, ReserveRequest, WatchRequest>;

}  // namespace beeline::control
