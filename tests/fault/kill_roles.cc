// The players of the kill test. All may end at any instruction: players are started again under
// their names, visitors under new ones.

#include <unistd.h>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/os/event_fd.h"
#include "tests/fault/correspondent.h"
#include "tests/fault/fault_test.h"
#include "tests/fault/kill_board.h"
#include "tests/support/payload.h"

namespace beeline::test {
namespace {

std::string name_of(std::uint32_t player) { return "player-" + std::to_string(player); }

// Joins the hive, or ends the process with the status that asks for a new start.
Agent join(AttachOptions options) {
  options.start_coordinator = false;
  auto agent = Agent::attach(options);
  if (agent) return std::move(*agent);
  ::_exit(kExitAgain);
}

// Lanes and inboxes differ, so that some are always full.
AttachOptions player_options(std::uint32_t self) {
  AttachOptions options = named(name_of(self));
  options.max_attempts = 255;
  options.normal_slots = 16U << self % 4;
  options.inbox_capacity = 64U << self % 3 * 3;
  return options;
}

AttachOptions visitor_options() {
  AttachOptions options = named("");
  options.temporary = true;
  options.normal_slots = 16;
  return options;
}

class Player {
 public:
  Player(KillBoard& board, std::uint32_t self)
      : board_(board),
        self_(self),
        agent_(join(player_options(self))),
        random_(mix(board.seed + board.lives.fetch_add(1))),
        peers_(board.cast.players),
        mail_(board.ledger, self) {
    // Some wait on their eventfd instead of the futex.
    if (self_ % 3 == 2) event_fd_ = agent_.fd();
  }

  void run() {
    bool quiet = false;
    while (board_.stop_receiving.load() == 0 && !testing::UnitTest::GetInstance()->Failed()) {
      const bool stop = board_.stop_sending.load() != 0;
      const bool sends = board_.cast.sends(self_) && !stop;
      if (sends) send_one();
      if (stop && !std::exchange(quiet, true)) give_up_sending();
      if (board_.cast.receives(self_) || !sends) receive_some(sends);
      if (stop) mail_.finish_all();  // a link fades when none of its messages is held
    }
    mail_.finish_all();
    while (auto message = agent_.try_receive()) {
      take(std::move(*message));
      mail_.finish_all();
    }
    const InboxCounters counters = agent_.counters();
    EXPECT_EQ(counters.queued + counters.leased + counters.dead, 0U);
    expect_balance(agent_);
    EXPECT_EQ(agent_.detach(patience()), 0U);
  }

 private:
  // The next message to send; the same one until it was sent.
  struct Pending {
    std::uint32_t to = 0;
    std::uint64_t sequence = 0;
  };

  // ---- Send ----
  void choose_next() {
    const std::uint32_t first = board_.cast.first_receiver;
    const auto to = first + static_cast<std::uint32_t>(random_() % (board_.cast.players - first));
    if (to == self_ || !open(to)) return;
    if (board_.ledger.attempted(self_, to) >= board_.allowance.load()) return receive_some(false);
    const std::uint64_t sequence = board_.ledger.attempt(self_, to);
    if (sequence != kMaxSequences) pending_ = {to, sequence};
  }

  // The link to another player; this may take several coordinators.
  bool open(std::uint32_t to) {
    if (peers_[to].valid()) return true;
    const auto peer = agent_.peer(name_of(to));
    if (peer) {
      peers_[to] = *peer;
    } else {
      EXPECT_NE(peer.error().code, ErrorCode::kPeerDead) << peer.error().text;
      EXPECT_NE(peer.error().code, ErrorCode::kDenied) << peer.error().text;
      receive_some(false);
    }
    return peer.has_value();
  }

  void send_one() {
    if (!pending_) choose_next();
    if (!pending_) return;
    const SendResult sent = try_send();
    if (sent) {
      board_.ledger.accept(self_, pending_->to, pending_->sequence, sent.id);
      pending_.reset();
    } else {
      EXPECT_EQ(sent.status, SendStatus::kFull) << to_string(sent.status);
    }
  }

  // Inline, copied into a slab, or written into a loan.
  SendResult try_send() {
    const Peer to = peers_[pending_->to];
    const PayloadHead head{self_, pending_->to, pending_->sequence, 0};
    const std::size_t length = mixed_length(random_());
    const auto rank = static_cast<std::int32_t>(random_() % 16 == 0 ? 0 : 1 + random_() % 3);
    const SendOptions options{
        .rank = rank, .type = random_() % 4 == 0 ? "kind" : "", .inherit = false};
    if (random_() % 8 == 0) {
      auto loan = agent_.loan(to, length);
      if (!loan) return {SendStatus::kFull, 0, 0};
      write_payload(loan->bytes(), head);
      return agent_.send(*loan, options);
    }
    std::vector<std::byte> payload(length);
    write_payload(payload, head);
    return agent_.send_until(to, payload, after(20ms), options);
  }

  void give_up_sending() {
    if (pending_) board_.ledger.refuse(self_, pending_->to, pending_->sequence);
    pending_.reset();
    board_.quiet.raise();
  }

  // ---- Receive ----
  void receive_some(bool in_a_hurry) {
    constexpr int kAtOnce = 8;
    for (int i = 0; i < kAtOnce; ++i) {
      auto message = agent_.try_receive();
      if (!message && !in_a_hurry && i == 0) message = wait_for_message();
      if (!message) return;
      take(std::move(*message));
    }
  }

  std::optional<Message> wait_for_message() {
    if (event_fd_ < 0) {
      auto message = agent_.receive({.timeout = 50ms});
      if (message) return std::move(*message);
      return std::nullopt;
    }
    (void)os::wait_readable(event_fd_, 50ms);
    return agent_.try_receive();
  }

  void take(Message message) {
    const auto receipt = mail_.receive(message, [&](std::uint32_t sender) -> Pid {
      return sender < peers_.size() ? peers_[sender].pid : 0;
    });
    if (!receipt) return message.done();
    if (random_() % 256 == 0 && receipt->attempts < 8) return message.requeue();
    mail_.hold(std::move(message), *receipt, random_);
  }

  KillBoard& board_;
  std::uint32_t self_;
  Agent agent_;
  Random random_;
  std::vector<Peer> peers_;
  std::optional<Pending> pending_;
  int event_fd_ = -1;
  Correspondent mail_;
};

// Attaches, leaves a few messages with one receiver, and is finally dead.
class Visitor {
 public:
  Visitor(KillBoard& board, std::uint32_t self)
      : board_(board),
        self_(self),
        agent_(join(visitor_options())),
        random_(mix(board.seed + board.lives.fetch_add(1))) {}

  [[noreturn]] void run() {
    const Cast& cast = board_.cast;
    const auto to = cast.first_receiver +
                    static_cast<std::uint32_t>(random_() % (cast.players - cast.first_receiver));
    if (const auto peer = agent_.peer(name_of(to))) {
      for (std::uint64_t left = random_() % 32; left > 0 && !is_over(to); --left) visit(*peer, to);
    }
    ::_exit(kExitVisited);
  }

 private:
  [[nodiscard]] bool is_over(std::uint32_t to) const {
    return board_.stop_sending.load() != 0 ||
           board_.ledger.attempted(self_, to) >= board_.allowance.load();
  }

  void visit(Peer peer, std::uint32_t to) {
    const std::uint64_t sequence = board_.ledger.attempt(self_, to);
    if (sequence == kMaxSequences) return;
    std::vector<std::byte> payload(mixed_length(random_()));
    write_payload(payload, {self_, to, sequence, 0});
    const SendResult sent = agent_.send_until(peer, payload, after(20ms));
    if (sent) return board_.ledger.accept(self_, to, sequence, sent.id);
    EXPECT_EQ(sent.status, SendStatus::kFull) << to_string(sent.status);
    board_.ledger.refuse(self_, to, sequence);
  }

  KillBoard& board_;
  std::uint32_t self_;
  Agent agent_;
  Random random_;
};

BEELINE_ROLE(visitor) { Visitor(context.board<KillBoard>(), context.number).run(); }

BEELINE_ROLE(player) { Player(context.board<KillBoard>(), context.number).run(); }

}  // namespace
}  // namespace beeline::test
