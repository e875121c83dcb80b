#pragma once

// The coordinator's knowledge of agents beyond the tree: their lives, with descriptors, and the
// links between them. Plain data with an index or two; the rules are in lives.cc, links.cc and
// death.cc.

#include <sys/types.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "shm/link.h"
#include "shm/status.h"
#include "src/control/histories.h"
#include "src/control/shares.h"
#include "src/control/tree.h"
#include "src/control/wire.h"
#include "src/os/fd.h"
#include "src/os/mapping.h"

namespace beeline::control {

// A descriptor that several owners keep open: the registry, and packets that wait to be sent.
using SharedFd = std::shared_ptr<const os::UniqueFd>;

[[nodiscard]] inline SharedFd share(os::UniqueFd fd) {
  return std::make_shared<const os::UniqueFd>(std::move(fd));
}

// One incarnation of an agent.
struct Life {
  shm::Incarnation incarnation{};
  pid_t os_pid = 0;  // for people
  uid_t uid = 0;     // of its connection
  SharedFd pidfd;
  SharedFd home;  // null until provided, like the next two
  SharedFd status;
  SharedFd event;
  os::Mapping status_page;
  bool temporary = false;     // becomes its agent's `temporary` when it is ready
  bool ready = false;         // its home is complete; the directory names it or did so
  bool ended = false;         // its process has ended, or it was detached or fenced
  std::int64_t ended_ns = 0;  // when that was seen, CLOCK_REALTIME; 0 = not known
  bool sees_us = false;       // it reads the directory of this coordinator, not of an earlier one
  std::uint64_t session = 0;  // the connection it speaks on, 0 = none now
  std::int64_t fence_at_ns = 0;  // Hive::hearing at which it is fenced unless it resumes, or 0
  bool told_lost = false;        // the keeper was told that it has lost its connection
  AwaitRequest awaited;          // the agent that it waits for; no name: none

  [[nodiscard]] bool provided() const { return status != nullptr; }
  [[nodiscard]] bool has_process() const { return !ended && provided(); }
  [[nodiscard]] const shm::StatusPage& page() const {
    return *reinterpret_cast<const shm::StatusPage*>(status_page.data());
  }
};

// An agent; name, parent, role and state are in the tree.
struct Agent {
  Pid pid = kNoPid;
  std::uint32_t index = 0;  // in the directory; for a dead agent, its last one
  bool placed = true;       // the place in the directory is still its own; see set_placed()
  uid_t uid = 0;            // of its first life; owns its name and its messages
  bool temporary = false;
  bool taken_over = false;         // finally dead, and its messages were dealt with
  bool purged = false;             // its messages were to be dropped on request
  std::int64_t look_at_ns = 0;     // see plan_looks(); CLOCK_MONOTONIC
  std::uint64_t letters_then = 0;  // dead letters of the hive when it was taken over, its own
                                   // included
  std::uint64_t attached_ns = 0;   // CLOCK_REALTIME
  std::uint64_t restarts = 0;      // lives before this one
  std::string ticket;              // of the process for which it is reserved; empty: none
  // A life that ended before any was ready, or a reservation; its record is the agent's.
  shm::Incarnation placeholder{};
  std::unique_ptr<Life> current;    // the life that owns the home in use; null before the first is
                                    // ready
  std::unique_ptr<Life> successor;  // attached, not ready yet
  std::vector<shm::Incarnation> untold_ends;  // ended lives that its parent was not told of yet
  std::deque<DiedAnnouncement> untold;        // deaths of its children while it had no connection

  // The life with this number; null if it is neither current nor successor.
  [[nodiscard]] Life* life(shm::Incarnation incarnation) const {
    if (current && current->incarnation == incarnation) return current.get();
    if (successor && successor->incarnation == incarnation) return successor.get();
    return nullptr;
  }
  [[nodiscard]] shm::Incarnation committed() const {
    return current ? current->incarnation : shm::kNoIncarnation;
  }
  // The life that has a process now: the successor during a hand-over.
  [[nodiscard]] Life* living() const {
    if (successor && !successor->ended) return successor.get();
    if (current && !current->ended) return current.get();
    return nullptr;
  }
};

struct LinkEntry {
  shm::LinkKey key;
  Pid owner = kNoPid;
  Pid reader = kNoPid;
  uid_t uid = 0;  // of its owner; the link counts in this user's share
  shm::LinkContract contract;
  SharedFd fd;
  bool may_send = false;
  bool faded = false;     // kept for its receipts alone: its owner has ended and left it empty, or
                          // its reader has forgotten or never accepted it
  bool released = false;  // its reader was told that it may forget it, and may have forgotten it
  std::int64_t opened_ns = 0;     // CLOCK_MONOTONIC
  bool left_empty = false;        // its owner has ended and left only receipts in it
  bool ended = false;             // its reader found impossible contents in it; only its receipts
                                  // count
  shm::Incarnation refused_by{};  // the life of its reader that did not accept it. The keeper is
                                  // not told: the next coordinator asks that life again
};

// One life of an agent that rings, and one that is rung, by their incarnations.
struct BellKey {
  shm::Incarnation ringer{};
  shm::Incarnation rung{};
  auto operator<=>(const BellKey&) const = default;
};

struct LinkKeyOrder {
  bool operator()(const shm::LinkKey& a, const shm::LinkKey& b) const {
    return std::pair(a.incarnation, a.serial) < std::pair(b.incarnation, b.serial);
  }
};

// The descriptors that the keeper holds of an agent: pidfd, home, status page, eventfd.
inline constexpr std::size_t kFdsOfAgent = 4;

// Not thread safe. Pointers stay valid until the entry is removed.
class Registry {
 public:
  Agent& add_agent(Agent agent);
  void remove_agent(Pid pid);
  // Gives the agent a place in the directory, or none, and counts it in its user's share.
  void set_placed(Agent& agent, bool placed);
  [[nodiscard]] Agent* agent(Pid pid);
  [[nodiscard]] std::map<Pid, Agent>& agents() { return agents_; }

  // Adds a link, or returns the existing one with this key.
  LinkEntry& add_link(LinkEntry link);
  void remove_link(const shm::LinkKey& key);
  [[nodiscard]] LinkEntry* link(const shm::LinkKey& key);
  [[nodiscard]] std::vector<LinkEntry*> links_of(Pid owner);
  [[nodiscard]] std::vector<LinkEntry*> links_to(Pid reader);
  // How many links_of() and links_to() would return.
  [[nodiscard]] std::size_t count_of(Pid owner) const;
  [[nodiscard]] std::size_t count_to(Pid reader) const;
  // How many links to this reader are of this user.
  [[nodiscard]] std::size_t count_to(Pid reader, uid_t user) const;
  // The links of all lives of `owner` for `reader`, the oldest life first.
  [[nodiscard]] std::vector<LinkEntry*> links_between(Pid owner, Pid reader);
  [[nodiscard]] std::size_t count_between(Pid owner, Pid reader) const;
  [[nodiscard]] bool has_link_between(Pid owner, Pid reader) const;
  // The link of this life of `owner` for `reader`, the newest if there are several.
  [[nodiscard]] LinkEntry* link_between(Pid owner, shm::Incarnation incarnation, Pid reader);
  // All agents with a link to or from this agent.
  [[nodiscard]] std::set<Pid> peers(Pid pid) const;
  [[nodiscard]] std::size_t link_count() const { return links_.size(); }

  // The shares of each user. The registry enters agents and links; the server enters the rest.
  [[nodiscard]] Shares& shares() { return shares_; }

  [[nodiscard]] Histories& histories() { return histories_; }

  // The eventfd made for this pair; null if there is none.
  [[nodiscard]] SharedFd bell(const BellKey& key) const;
  void add_bell(const BellKey& key, SharedFd event);
  void remove_bell(const BellKey& key);
  // The bells of a life, as ringer and as rung.
  [[nodiscard]] std::vector<BellKey> bells_of(shm::Incarnation incarnation) const;

 private:
  using Edge = std::pair<Pid, shm::LinkKey>;
  struct EdgeOrder {
    bool operator()(const Edge& a, const Edge& b) const {
      if (a.first != b.first) return a.first < b.first;
      return LinkKeyOrder{}(a.second, b.second);
    }
  };
  using Edges = std::set<Edge, EdgeOrder>;
  using Counts = std::map<Pid, std::size_t>;
  using Pair = std::pair<Pid, Pid>;  // owner, reader

  [[nodiscard]] static std::size_t count_in(const Counts& counts, Pid pid);
  static void count_down(Counts& counts, Pid pid);
  [[nodiscard]] std::vector<LinkEntry*> collect(const Edges& edges, Pid pid);

  std::map<Pid, Agent> agents_;
  std::map<shm::LinkKey, LinkEntry, LinkKeyOrder> links_;
  Edges by_owner_;
  Edges by_reader_;
  // An agent may have thousands of links, so a question about one peer must not visit all of them.
  std::map<Pair, std::set<shm::LinkKey, LinkKeyOrder>> between_;
  Counts count_of_;
  Counts count_to_;
  std::map<std::pair<Pid, uid_t>, std::size_t> count_of_user_;
  Shares shares_;
  Histories histories_;
  std::map<BellKey, SharedFd> bells_;
  std::set<std::pair<shm::Incarnation, shm::Incarnation>> by_rung_;  // rung, ringer
};

}  // namespace beeline::control
