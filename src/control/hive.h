#pragma once

// Everything that the coordinator knows, in one place, and the few moves of which all operations
// consist: keep a record, set a directory word, tell a client, ring an agent. The rules stand in
// lives.h (attach to detach), links.h, death.h, takeover.h and restore.h, as functions on a Hive.
// One thread; nothing here blocks on a client.

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/result.h>

#include "src/control/dead_letters.h"
#include "src/control/directory_segment.h"
#include "src/control/hive_paths.h"
#include "src/control/keeper_client.h"
#include "src/control/log.h"
#include "src/control/log_gate.h"
#include "src/control/registry.h"
#include "src/control/state_file.h"
#include "src/control/tree.h"
#include "src/control/wire.h"

namespace beeline::control {

// The connections, as the rest of the coordinator sees them. The server implements it.
class Outbox {
 public:
  Outbox() = default;
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;
  virtual ~Outbox() = default;

  // Queues a packet; never blocks. A client that does not take its packets is dropped.
  virtual void send(std::uint64_t session, std::string text, std::vector<SharedFd> fds) = 0;
  // Sends a packet if none waits before it and the socket takes it now. Then the client can read
  // it even if this coordinator ends. If not, tell_deaths() is called when there is room.
  [[nodiscard]] virtual bool send_now(std::uint64_t session, const std::string& text) = 0;
  // Handles all unread packets of a client, because its process has ended.
  virtual void drain(std::uint64_t session) = 0;
  // From now on the connection speaks for no agent.
  virtual void release(std::uint64_t session) = 0;
  // Reports the end of a life's process, until unwatched.
  virtual void watch(const Life& life, Pid pid) = 0;
  virtual void unwatch(const Life& life) = 0;
  [[nodiscard]] virtual std::size_t client_count() const = 0;
  [[nodiscard]] virtual std::uint64_t dropped_clients() const = 0;
};

// The sender of a request. `pid` and `incarnation` are set once it has become an agent.
struct Caller {
  std::uint64_t session = 0;
  uid_t uid = 0;
  pid_t os_pid = 0;
  SharedFd pidfd;  // from the socket; null if the kernel cannot tell
  Pid pid = kNoPid;
  shm::Incarnation incarnation{};
};

// An agent that ended for good. It stays visible for a while, so that its name and pid still mean
// something to tools.
struct Tombstone {
  Pid pid = kNoPid;
  std::int64_t since_ns = 0;
};

struct Fence {
  Pid pid = kNoPid;
  shm::Incarnation incarnation{};
};

// The links that a life waits to be allowed to forget.
struct Fades {
  Pid reader = kNoPid;
  std::set<shm::LinkKey, LinkKeyOrder> links;
};

// A tool that waits until an agent has put back or dropped dead letters.
struct LetterTicket {
  std::uint64_t number = 0;
  std::uint64_t agent_session = 0;
  std::uint64_t tool_session = 0;
  std::uint64_t tool_seq = 0;  // of the tool's request
};

struct LetterTickets {
  std::vector<LetterTicket> waiting;
  std::uint64_t next = 1;
};

// The agents that may be forgotten when nothing waits for them.
struct LookPlan {
  std::deque<Pid> due;        // away for long: does anything still wait for them?
  std::int64_t after_ns = 0;  // how long an agent may be away while nothing waits for it; 0: for
                              // ever
  std::int64_t next_plan_ns = 0;  // see plan_looks()
};

// How well this coordinator hears its agents: it fences no agent for its own deafness.
struct Hearing {
  std::int64_t listened_ns = 0;  // the clock of fences: how long it was able to hear agents
  bool all_heard = true;  // every agent that had sent something at the last look has been heard
};

// The end of the whole hive.
struct Downfall {
  bool has_begun = false;
  std::string reason;
  std::int64_t wait_until_ns = 0;  // for pid 1, which ends its processes first; 0: nobody asked yet
};

// A tool that waits until the agent that it asked to forget is taken over.
struct AwaitedEnd {
  Pid pid = kNoPid;
  std::uint64_t session = 0;
  std::uint64_t seq = 0;
};

// The keeper's facts about the hive, for a new coordinator.
struct HiveFacts {
  HivePaths paths;
  std::string since;                // start of the hive, RFC 3339
  std::uint64_t since_boot_us = 0;  // the start on the clock of incarnations
  std::uint64_t restarts = 0;
  pid_t keeper_pid = 0;
  std::uint64_t max_payload_bytes = 0;
  std::string king_secret;  // of the steward; empty: this installation has none
};

struct Hive {
  Hive(HiveFacts facts_in, KeeperClient& keeper_in, Outbox& outbox_in, Log& log_in,
       StateFile state_in, DirectorySegment directory_in)
      : facts(std::move(facts_in)),
        keeper(keeper_in),
        outbox(outbox_in),
        log(log_in),
        state(std::move(state_in)),
        directory(std::move(directory_in)) {}

  HiveFacts facts;
  KeeperClient& keeper;
  Outbox& outbox;
  Log& log;
  LogGate gate;
  StateFile state;
  Pid kept_pids = 0;  // pids that are reserved, as the keeper knows
  DirectorySegment directory;
  SharedFd directory_fd;
  Tree tree;
  Registry registry;
  DeadLetters dead_letters;
  LetterTickets letter_tickets;
  std::size_t untold_deaths = 0;  // deaths that wait for parents, of all agents
  std::deque<Pid> takeovers;      // finally dead, to be taken over
  std::vector<AwaitedEnd> forgets;
  LookPlan looks;
  std::deque<Tombstone> tombstones;
  std::vector<Fence> fences;
  Hearing hearing;
  std::map<shm::Incarnation, Fades> fades;  // by the life that waits
  std::uint64_t watcher = 0;  // the connection of pid 1 that hears of all lives; 0: none
  shm::Incarnation last_incarnation{};
  std::uint64_t quarantined_links = 0;  // since the keeper was started
  Downfall down;

  // True if the caller may cause one more line of this event.
  [[nodiscard]] bool may_log(const Caller& caller, std::string_view event,
                             const LogGate::Limit& limit = LogGate::kRefusals);
  // True if an agent's life may cause one more line of this event.
  [[nodiscard]] bool may_log_life(Pid pid, uid_t uid, std::string_view event);

  // A number above all that were ever given out (see architecture.md).
  [[nodiscard]] shm::Incarnation next_incarnation();

  // Hands the record of a life or a link to the keeper with its descriptors, before any agent is
  // told of it.
  [[nodiscard]] Result<void> keep_life(const Agent& agent, const Life& life);
  [[nodiscard]] Result<void> keep_link(const LinkEntry& link);
  // Hands over the record of a life with descriptors that the keeper has already.
  [[nodiscard]] Result<void> keep_ready(const Agent& agent, const Life& life);
  // Tells the keeper, as soon as it can hear it, what has become of a life, of all remembered
  // lives of an agent, or of a link.
  void note_life(const Agent& agent, const Life& life);
  void note_agent(const Agent& agent);
  void note_link(const LinkEntry& link);
  void drop_life(Pid pid, shm::Incarnation incarnation);
  // Forgets a link here and in the keeper.
  void drop_link(shm::LinkKey key);

  // Stores the agent's state in tree and directory word: dead stays dead, any other state follows
  // from the lives.
  void refresh_word(const Agent& agent);
  // Writes the agent's record; `publish_records()` makes it visible.
  void refresh_record(const Agent& agent);
  // Both.
  void refresh(const Agent& agent);
  void publish_records();

  void answer(const Caller& caller, std::uint64_t seq, const Answer& answer,
              std::vector<SharedFd> fds = {});
  // Gives the agent's place in the directory to others. The word stays, and says that the agent is
  // dead; the record is empty once records are published again.
  void give_up_place(Agent& agent);

  // Sends a packet to a life, and rings it: fence, status word, bell. Does nothing if it has no
  // connection.
  void announce(const Life& life, const AnnouncedValue& value, std::vector<SharedFd> fds = {});
  void ring(const Life& life);
  // Rings every agent that has a link to or from this agent.
  void ring_peers(Pid pid);
};

}  // namespace beeline::control
