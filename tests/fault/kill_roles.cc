// The players of the kill test. Each may end at any instruction and is started again under its name.

#include <unistd.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "src/os/event_fd.h"
#include "tests/fault/kill_board.h"
#include "tests/support/hive_test.h"
#include "tests/support/payload.h"

namespace beeline::test {
namespace {

using Random = std::mt19937_64;

// Joins the hive, or ends the process in a way that says: start me again.
Agent join(const KillBoard& board, const std::string& name) {
  AttachOptions options = named(name);
  options.start_coordinator = false;
  options.max_attempts = 255;
  auto agent = Agent::attach(options);
  if (agent) return std::move(*agent);
  if (board.stop_sending.load() != 0) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), agent.error().text.c_str());
  }
  ::_exit(kExitAgain);
}

// The link to a receiver; it may take several coordinators.
Peer open(Agent& agent, std::uint32_t receiver) {
  const Deadline deadline = patience();
  for (;;) {
    const auto peer = agent.peer("receiver-" + std::to_string(receiver));
    if (peer) return *peer;
    if (std::chrono::steady_clock::now() > deadline) {
      ADD_FAILURE() << agent.name() << " finds no receiver-" << receiver << ": "
                    << peer.error().text;
      return {};
    }
    static_cast<void>(agent.receive({.timeout = 5ms}));
  }
}

// One message: in the lane, copied into a slab, or written into a loan.
SendResult send_one(Agent& agent, Peer to, const PayloadHead& head, Random& random) {
  const std::size_t length = mixed_length(random());
  const auto rank = static_cast<std::int32_t>(random() % 16 == 0 ? 0 : 1 + random() % 3);
  const SendOptions options{.rank = rank, .type = random() % 4 == 0 ? "kind" : ""};
  if (random() % 8 == 0) {
    auto loan = agent.loan(to, length);
    if (!loan) return {SendStatus::kFull, 0, 0};
    write_payload(loan->bytes(), head);
    return agent.send(*loan, options);
  }
  std::vector<std::byte> payload(length);
  write_payload(payload, head);
  return agent.send_until(to, payload, after(20ms), options);
}

BEELINE_ROLE(killed_sender) {
  auto& board = context.board<KillBoard>();
  const std::uint32_t self = context.number;
  Agent agent = join(board, "sender-" + std::to_string(self));
  Random random(mix(board.seed + board.lives.fetch_add(1)));
  std::vector<Peer> peers;
  for (std::uint32_t r = 0; r < kReceivers; ++r) peers.push_back(open(agent, r));
  while (board.stop_sending.load() == 0 && !testing::UnitTest::GetInstance()->Failed()) {
    const auto receiver = static_cast<std::uint32_t>(random() % kReceivers);
    const std::uint64_t sequence = board.ledger.attempt(self, receiver);
    if (sequence == kMaxSequences) break;
    SendResult sent{SendStatus::kFull, 0, 0};
    while (!sent && board.stop_sending.load() == 0) {
      sent = send_one(agent, peers[receiver], {self, receiver, sequence, 0}, random);
      if (sent) break;
      EXPECT_EQ(sent.status, SendStatus::kFull) << to_string(sent.status);
      if (sent.status != SendStatus::kFull) return;
    }
    if (sent) {
      board.ledger.accept(self, receiver, sequence, sent.id);
    } else {
      board.ledger.refuse(self, receiver, sequence);
    }
  }
  agent.detach(patience());
}

class Receiver {
 public:
  Receiver(KillBoard& board, std::uint32_t self)
      : board_(board),
        self_(self),
        agent_(join(board, "receiver-" + std::to_string(self))),
        random_(mix(board.seed + board.lives.fetch_add(1))) {
    // One of them waits on its eventfd instead of the futex.
    if (self_ == kReceivers - 1) event_fd_ = agent_.fd();
  }

  void run() {
    while (board_.stop_receiving.load() == 0) {
      if (auto message = next()) take(std::move(*message));
    }
    finish_all();
    while (auto message = agent_.try_receive()) {
      take(std::move(*message));
      finish_all();
    }
    const InboxCounters counters = agent_.counters();
    EXPECT_EQ(counters.queued + counters.leased + counters.dead, 0U);
    expect_balance(agent_);
    agent_.detach(patience());
  }

 private:
  struct Held {
    Message message;
    Ledger::Receipt receipt;
  };

  std::optional<Message> next() {
    if (event_fd_ < 0) {
      auto message = agent_.receive({.timeout = 50ms});
      if (message) return std::move(*message);
      return std::nullopt;
    }
    auto message = agent_.try_receive();
    if (!message) static_cast<void>(os::wait_readable(event_fd_, 50ms));
    return message;
  }

  void take(Message message) {
    const auto head = read_payload(message.payload());
    Ledger::Receipt receipt{0, self_, 0, message.id(), message.attempts()};
    if (!head) {
      board_.ledger.complain(Fault::kDamaged, receipt, message.payload().size());
      return message.done();
    }
    receipt.sender = head->sender;
    receipt.sequence = head->sequence;
    if (head->receiver != self_) board_.ledger.complain(Fault::kMisrouted, receipt, 0);
    board_.ledger.receive(receipt);
    if (random_() % 256 == 0 && receipt.attempts < 8) return message.requeue();
    held_.push_back({std::move(message), receipt});
    // A few leases are open whenever it is killed, and they end in any order.
    while (held_.size() > random_() % 8) finish(random_() % held_.size());
  }

  void finish(std::size_t at) {
    held_[at].message.done();
    board_.ledger.finish(held_[at].receipt);
    std::swap(held_[at], held_.back());
    held_.pop_back();
  }
  void finish_all() {
    while (!held_.empty()) finish(held_.size() - 1);
  }

  KillBoard& board_;
  std::uint32_t self_;
  Agent agent_;
  Random random_;
  int event_fd_ = -1;
  std::vector<Held> held_;
};

BEELINE_ROLE(killed_receiver) { Receiver(context.board<KillBoard>(), context.number).run(); }

}  // namespace
}  // namespace beeline::test
