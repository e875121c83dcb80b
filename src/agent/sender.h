#pragma once
// The send side of an agent. One ladder: send() calls try_once() (the lock and the link), which
// calls pass_on() (the rate), which calls SendPath::write() (check, fill, publish and ring).
// Messages to a sibling, and those of other threads, go by admit(): it calls pass_on(), and then
// shows the parent a copy of a message to a sibling.

#include <cstdint>
#include <span>

#include <beeline/agent.h>

#include "src/agent/attempt.h"
#include "src/agent/deadlines.h"
#include "src/agent/peer_links.h"
#include "src/agent/send_queue.h"
#include "src/control/client.h"

namespace beeline {

class AgentCore;
class Arrivals;
class Family;
class Leases;
class Letterhead;
class LinkOpener;
class Sleeper;
class Turn;

class Sender {
 public:
  using Bytes = std::span<const std::byte>;
  struct Needs {
    AgentCore& core;  // for loans, which find their way back by it
    OwnLife& life;
    control::Client& client;
    receive::Receiver& receiver;
    PeerLinks& links;
    LinkOpener& opener;
    Arrivals& arrivals;
    Family& family;
    Leases& leases;
    Sleeper& sleeper;
    Turn& turn;
    Deadlines& deadlines;
  };
  explicit Sender(const Needs& needs);

  // `id` 0: a new one.
  SendResult send(Peer to, Bytes payload, const SendOptions& options, Deadline deadline,
                  MessageId id = 0);
  // The same under a head with all that it inherits. `place`, unless null, is where the message
  // lies when it was sent.
  SendResult send_under(const Letterhead& head, Peer to, Bytes payload, Deadline deadline,
                        MessageId id, send::SentPlace* place = nullptr);
  SendResult reply(Message& message, Bytes payload, const SendOptions& options, Deadline deadline);
  // A word about a task that this agent does.
  SendResult report(const Message& task, shm::MessageKind kind, Bytes text);
  SendResult send_control(Peer to, Bytes payload, const SendOptions& options);
  SendResult cancel(Peer to, MessageId id);

  // ---- Other threads ----
  SendResult send_shared(Peer to, Bytes payload, const SendOptions& options, Deadline deadline);
  // Under the send lock.
  void flush_shared();

  // ---- Loans ----
  [[nodiscard]] Result<Loan> loan(Peer to, std::size_t bytes, Deadline deadline);
  SendResult send_loan(Loan& loan, const SendOptions& options, Deadline deadline);
  void give_back(const Loan& loan);

  // ---- The steps, under the send lock, for calls that have the link ----
  // Sends, and shows the parent a copy where the receiver is a sibling.
  SendResult admit(send::OutLink& link, const send::Draft& draft);
  // The same without a copy for the parent.
  SendResult admit_unseen(send::OutLink& link, const send::Draft& draft);
  void show_to_parent(const send::Draft& draft, send::OutLink& to);

  // Whether each message is recorded. Under the send lock.
  void record(bool on) { records_ = on; }
  // Why there is no link.
  [[nodiscard]] SendResult missing(Peer peer) const;
  [[nodiscard]] MessageId reserve_id();
  // Prefetches the slot behind the last message. For calls after which the agent probably sends
  // something to the same receiver at once (docs/cache-lines.md, Prefetch distances).
  void prefetch_next_slot() const {
    if (next_slot_ != nullptr) shm::prefetch_for_write(next_slot_);
  }
  // How many hops an answer to this message is farther from the origin than the message.
  [[nodiscard]] std::uint32_t step_from(const shm::Entry& message) const;

 private:
  // The draft has no envelope of its own yet.
  [[gnu::always_inline]] SendResult send_with(const SendOptions& options, Peer to,
                                              send::Draft draft, Deadline deadline);
  [[gnu::always_inline]] SendResult send_draft(send::Draft draft, std::uint32_t hops, Peer to,
                                               Deadline deadline, send::SentPlace* place);
  // One try; true when another one is of no use.
  [[gnu::always_inline]] [[nodiscard]] bool try_once(Attempt& attempt);
  [[nodiscard]] bool try_again(Attempt& attempt);
  void send_later(Attempt attempt, Deadline deadline);
  [[gnu::always_inline]] void pass_on(send::OutLink& link, send::Draft draft, SendResult& result);
  [[nodiscard]] bool is_limited(send::OutLink& link, const send::Envelope& envelope);
  static void count_sent(send::OutLink& link, const send::Envelope& envelope);
  [[nodiscard]] bool has_settled(SendStatus status, send::OutLink& link);
  [[nodiscard]] bool look_for_receipts(Peer to);
  [[nodiscard]] std::uint32_t step_of(const SendOptions& options, Peer to,
                                      const shm::Entry* about) const;
  template <typename Try>
  void wait_for_space(Peer to, Deadline deadline, Try&& attempt);
  void learn_early(Peer to);

  AgentCore& core_;
  OwnLife& life_;
  control::Client& client_;
  receive::Receiver& receiver_;
  PeerLinks& links_;
  LinkOpener& opener_;
  Arrivals& arrivals_;
  Family& family_;
  Leases& leases_;
  Sleeper& sleeper_;
  Turn& turn_;
  Deadlines& deadlines_;
  bool records_ = false;
  SendQueue queue_;
  // Behind the last message that this agent's own thread has sent; null before the first. A copy of
  // SendPath::next_slot(), which other threads write under the send lock.
  const void* next_slot_ = nullptr;
};

}  // namespace beeline
