#pragma once
// Messages that this agent owes its peers, and that no call waits for: acknowledgements, orders to
// give a message back, answers of handlers. A message that finds no room stays a debt, and is sent
// as soon as there is room.

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include <beeline/types.h>

#include "src/agent/debt.h"
#include "src/agent/peer_links.h"

namespace beeline {

class Escalations;
class Leases;
class Sender;
class Sleeper;

class Debts {
 public:
  struct Needs {
    OwnLife& life;
    receive::Receiver& receiver;
    PeerLinks& links;
    Sender& sender;
    Leases& leases;
    Escalations& escalations;
    Sleeper& sleeper;
  };
  explicit Debts(const Needs& needs);

  void acknowledge(Subject about, AckStatus status, std::string_view reply);
  // The text of `done()` answers the question in this entry.
  void answer(MessageId question, shm::EntryIndex entry, std::string_view text);
  // The peer is to give this message back.
  void cancel(Pid peer, MessageId id);
  void pay_debts();
  bool ask_to_ring(Pid peer);
  void stop_ringing(Pid to);
  std::size_t drop_debts();

  [[nodiscard]] bool empty() const { return debts_.empty(); }
  // When to try debts again that no peer rings for; Deadlines::kNever: there are none.
  [[nodiscard]] std::int64_t next_payment_ns() const;
  [[nodiscard]] std::uint64_t acks_dropped() const { return acks_dropped_; }

 private:
  void owe(Debt debt);
  [[nodiscard]] bool pay_each();
  [[nodiscard]] SendStatus pay(const Debt& debt);

  OwnLife& life_;
  receive::Receiver& receiver_;
  PeerLinks& links_;
  Sender& sender_;
  Leases& leases_;
  Escalations& escalations_;
  Sleeper& sleeper_;
  std::deque<Debt> debts_;
  bool is_unrung_ = false;  // of them something waits for which nobody rings
  std::uint64_t acks_dropped_ = 0;
};

}  // namespace beeline
