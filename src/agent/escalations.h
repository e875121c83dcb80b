#pragma once
// What goes up the tree: what an agent escalates itself, and the messages that its handlers hand
// on.

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include <beeline/message.h>
#include <beeline/types.h>

#include "shm/entry.h"

namespace beeline {

class AgentCore;

// What goes up. The payload of a message lies in the inbox, until its lease ends.
struct Escalation {
  SendOptions options{};
  std::span<const std::byte> payload;
  std::uint32_t full_length = 0;  // of what was cut, 0 if it was not
  Pid asked = 0;                  // who took it, or was the last that did not
};

class Escalations {
 public:
  explicit Escalations(AgentCore& core) : core_(core) {}

  // Of the agent itself. Waits a moment for room above.
  SendResult escalate(std::span<const std::byte> payload, const SendOptions& options);
  // Of a message in hand, whose lease ends where that succeeds.
  SendResult escalate(std::uint32_t entry);

  // A message that its handler wants to go up. It keeps its lease while there is no room above, or
  // no coordinator to ask, and what its handlers want to go up later waits behind it. What nobody
  // above takes is a dead letter: its handler has decided already, and would do so again.
  void hand_up(Message message);
  // Sends up what waits and can go.
  void send_waiting();
  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  // Something waits for room in the link to this agent.
  [[nodiscard]] bool want_room_of(Pid pid) const { return pid == awaited_ && !empty(); }
  // Puts back what waits, of an agent that leaves: its next life has it.
  void put_back() { waiting_.clear(); }

 private:
  SendResult climb(Escalation& made, const shm::Entry* about, Deadline deadline);
  SendResult write_down(std::span<const std::byte> payload);
  [[nodiscard]] Escalation escalation_of(std::uint32_t entry) const;
  void end(std::uint32_t entry);
  [[nodiscard]] bool send_first();
  [[nodiscard]] bool may_go_later(SendStatus status, Pid asked) const;
  [[nodiscard]] bool want_room(SendStatus status, Pid asked);
  [[nodiscard]] bool is_gone(Pid ancestor);

  AgentCore& core_;
  std::deque<Message> waiting_;
  Pid awaited_ = 0;               // in whose link there was no room
  bool is_sending_ = false;       // a send may look at the control socket, and so come here again
  std::vector<Pid> gone_;         // of those above, in ...
  std::uint64_t gone_epoch_ = 0;  // ... this tree
};

}  // namespace beeline
