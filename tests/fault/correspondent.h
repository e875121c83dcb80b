#pragma once
// The mail of one player: it checks its messages and notes them in the ledger, holds some for a
// while, and finishes them in any order.

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <beeline/agent.h>

#include "tests/fault/ledger.h"
#include "tests/support/payload.h"

namespace beeline::test {

class Correspondent {
 public:
  Correspondent(Ledger& ledger, std::uint32_t self) : ledger_(ledger), self_(self) {}

  // Notes that the message was handed out. Returns nothing if the payload does not prove itself;
  // the ledger then has a fault. `sender_pid` returns the pid of a player in the hive, 0 = unknown.
  template <typename SenderPid>
  [[nodiscard]] std::optional<Ledger::Receipt> receive(const Message& message,
                                                       SenderPid&& sender_pid) {
    const auto head = read_payload(message.payload());
    Ledger::Receipt receipt{0, self_, 0, message.id(), message.attempts()};
    if (!head) {
      ledger_.complain(Fault::kDamaged, receipt, message.payload().size());
      return std::nullopt;
    }
    receipt.sender = head->sender;
    receipt.sequence = head->sequence;
    if (head->receiver != self_) ledger_.complain(Fault::kMisrouted, receipt, 0);
    const Pid known = sender_pid(head->sender);
    if (known != 0 && known != message.from()) ledger_.complain(Fault::kWrongSender, receipt, 0);
    ledger_.receive(receipt);
    return receipt;
  }

  // Notes that a dead letter is purged: one that this player has rejected.
  template <typename Purge>
  void bury(const InboxItem& letter, Purge&& purge) {
    PayloadHead head;
    ASSERT_GE(letter.preview.size(), sizeof(head));
    std::memcpy(&head, letter.preview.data(), sizeof(head));
    const Ledger::Receipt receipt{head.sender, self_, head.sequence, letter.id, letter.attempts};
    if (letter.reason != "rejected" || head.receiver != self_ || !ledger_.was_handed_out(receipt)) {
      return ledger_.complain(Fault::kNoLetter, receipt, 0);
    }
    ledger_.begin_end(receipt);
    purge();
    ledger_.finish(receipt);
  }

  // Keeps a few leases open until a kill, and ends them in any order.
  template <typename Random>
  void hold(Message message, const Ledger::Receipt& receipt, Random& random) {
    held_.push_back({std::move(message), receipt});
    while (held_.size() > random() % 8) finish(random() % held_.size());
  }
  void finish_all() {
    while (!held_.empty()) finish(held_.size() - 1);
  }

 private:
  struct Held {
    Message message;
    Ledger::Receipt receipt;
  };

  void finish(std::size_t at) {
    ledger_.begin_end(held_[at].receipt);
    held_[at].message.done();
    ledger_.finish(held_[at].receipt);
    std::swap(held_[at], held_.back());
    held_.pop_back();
  }

  Ledger& ledger_;
  std::uint32_t self_;
  std::vector<Held> held_;
};

}  // namespace beeline::test
