#pragma once

// The packets of the coordinator: answers to requests, and announcements to agents. See wire.h.

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

struct ReservedAnswer {
  Pid pid = kNoPid;
  std::string name;
  std::string ticket;
};

using Answer = std::variant<OkAnswer, ErrorAnswer, AttachedAnswer, OpenedAnswer, ResumedAnswer,
                            ListAnswer, LinksAnswer, StatusAnswer, RouteAnswer, LettersAnswer,
                            KeptLettersAnswer, KeptLetterAnswer, HistoryAnswer, ReservedAnswer>;

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

inline constexpr std::string_view kLifeReady = "ready";
inline constexpr std::string_view kLifeDied = "died";
inline constexpr std::string_view kLifeRemoved = "removed";
inline constexpr std::string_view kLifeEscalated = "escalated";
inline constexpr std::string_view kHiveEnds = "ending";

// To the connection of pid 1 that watches: something happened to an agent, or the hive is about to
// end and waits for pid 1.
struct LifeAnnouncement {
  std::string what;  // one of the words above
  Pid pid = kNoPid;
  Pid parent = kNoPid;
  std::string name;
  bool dead = false;  // finally
  std::string text;   // of an escalation
};

using AnnouncedValue = std::variant<LinkAnnouncement, DiedAnnouncement, FadedAnnouncement,
                                    EndedAnnouncement, ShutdownAnnouncement, DroppedAnnouncement,
                                    LettersAnnouncement, CameAnnouncement, LifeAnnouncement>;

}  // namespace beeline::control
