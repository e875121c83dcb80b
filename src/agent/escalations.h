#pragma once
// Escalations, which go up the tree: those of the agent itself, and messages that its handlers hand
// on.

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include <beeline/message.h>
#include <beeline/types.h>

#include "shm/entry.h"
#include "src/agent/deadlines.h"
#include "src/agent/directory.h"
#include "src/agent/escalation.h"
#include "src/agent/peer_links.h"
#include "src/control/client.h"

namespace beeline {

class Debts;
class Family;
class Leases;
class LinkOpener;
class Registration;
class Sender;

class Escalations {
 public:
  struct Needs {
    OwnLife& life;
    const Directory& directory;
    control::Client& client;
    receive::Receiver& receiver;
    PeerLinks& links;
    LinkOpener& opener;
    Registration& registration;
    Family& family;
    Sender& sender;
    Leases& leases;
    Debts& debts;
  };
  explicit Escalations(const Needs& needs);

  // For the agent itself. Waits a moment for room above.
  SendResult escalate(std::span<const std::byte> payload, const SendOptions& options);
  // For a message in hand. Its lease ends if this succeeds.
  SendResult escalate(shm::EntryIndex entry);

  // A message that its handler wants to go up. It keeps its lease while there is no room above, or
  // no coordinator to ask, and later escalations wait behind it. If no agent above takes it, it
  // becomes a dead letter: its handler has decided already, and would do so again.
  // `reply`: its handler's words, for a sender that asked.
  void hand_up(Message message, std::string reply);
  // Lets go of messages that their senders have taken back.
  void drop_cancelled();
  // Sends up those that wait, as far as they can go.
  void send_waiting();
  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  // Something waits for room in the link to this agent, which rings when there is some.
  [[nodiscard]] bool wants_room_of(Pid pid) const {
    return pid != 0 && pid == awaited_ && !empty();
  }
  // When to look again, where no peer rings, on CLOCK_MONOTONIC; Deadlines::kNever: not at all.
  [[nodiscard]] std::int64_t next_try_ns() const {
    return empty() || awaited_ != 0 ? Deadlines::kNever : next_try_ns_;
  }
  // The coordinator is there again, or knows of somebody.
  void try_again_now() { next_try_ns_ = 0; }
  // This agent leaves: messages that wait go back into the inbox, for its next life.
  void put_back() { waiting_.clear(); }

 private:
  struct Waiting {
    Message message;
    std::string reply;
  };

  SendResult climb(Escalation& made, const shm::Entry* about, Deadline deadline);
  [[nodiscard]] bool is_away(Pid ancestor) const;
  SendResult write_down(std::span<const std::byte> payload);
  [[nodiscard]] Escalation escalation_of(shm::EntryIndex entry) const;
  [[nodiscard]] bool send_first();
  [[nodiscard]] bool may_go_later(SendStatus status, Pid asked) const;
  [[nodiscard]] bool ask_for_room(SendStatus status, Pid asked);
  void wait_for(SendStatus status, Pid asked);
  void look_who_is_gone();

  OwnLife& life_;
  const Directory& directory_;
  control::Client& client_;
  receive::Receiver& receiver_;
  PeerLinks& links_;
  LinkOpener& opener_;
  Registration& registration_;
  Family& family_;
  Sender& sender_;
  Leases& leases_;
  Debts& debts_;
  std::deque<Waiting> waiting_;
  Pid awaited_ = 0;  // its link had no room, and it rings; 0: no peer rings for the first
  std::int64_t next_try_ns_ = 0;
  std::vector<Pid> gone_;         // for good, of those above, in ...
  std::uint64_t gone_epoch_ = 0;  // ... this tree
};

}  // namespace beeline
