// An agent of the chaos test: it writes to all agents that it may write to, asks, answers, puts
// back and rejects, and notes everything in the ledger. It may end at any instruction.

#include <unistd.h>

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/os/clock.h"
#include "src/os/event_fd.h"
#include "tests/fault/chaos_board.h"
#include "tests/fault/correspondent.h"
#include "tests/fault/fault_test.h"

namespace beeline::test {
namespace {

constexpr std::string_view kQuestion = "question";
constexpr std::size_t kOpenQuestions = 16;  // of one life, without those that it waits for
constexpr std::size_t kLongestAnswer = 900;
constexpr std::uint64_t kMostLetters = 32;  // an inbox keeps twice as many

std::string player_name(std::uint32_t player) { return "player-" + std::to_string(player); }

// All orders; some lanes and inboxes are always full.
AttachOptions agent_options(std::uint32_t self) {
  AttachOptions options = named(player_name(self), self == 0 ? "" : player_name(parent_of(self)));
  options.role = role_of(self);
  options.start_coordinator = false;
  options.max_attempts = 255;
  options.order = std::array{Order::kAged, Order::kStrict, Order::kFifo}[self % 3];
  options.normal_slots = 16U << self % 4;
  options.inbox_capacity = 256U << self % 3;
  return options;
}

// Joins the hive, or ends the process with the status that asks for a new start.
Agent join_chaos(ChaosBoard& board, std::uint32_t self) {
  auto agent = Agent::attach(agent_options(self));
  if (!agent) ::_exit(kExitAgain);
  const std::int64_t killed_ns = board.killed_ns[self].exchange(0);
  if (killed_ns != 0) board.restarts.add(os::monotonic_ns() - killed_ns);
  board.pids[self].store(agent->pid());
  board.joined[self].store(1);
  return std::move(*agent);
}

class ChaosAgent {
 public:
  ChaosAgent(ChaosBoard& board, std::uint32_t self)
      : board_(board),
        self_(self),
        agent_(join_chaos(board, self)),
        random_(mix(board.seed + board.lives.fetch_add(1))),
        mail_(board.ledger, self) {
    for (std::uint32_t to = 0; to < kAgents; ++to) {
      if (writes(self, to)) addressees_.push_back(to);
    }
    // Some wait on their eventfd instead of the futex.
    if (self_ % 4 == 2) event_fd_ = agent_.fd();
  }

  void run() {
    while (board_.over.load() == 0 && !testing::UnitTest::GetInstance()->Failed()) {
      const std::uint32_t rest = board_.rest.load();
      if (rest == 0) {
        for (std::uint64_t left = random_() % 16; left > 0; --left) send_one();
        receive_some();
      } else {
        receive_some();
        have_nothing_left(rest);
      }
    }
    while (receive_one()) mail_.finish_all();
    mail_.finish_all();
    let_letters_go();
    const InboxCounters counters = agent_.counters();
    EXPECT_EQ(counters.queued + counters.leased + counters.dead, 0U);
    EXPECT_EQ(counters.quarantined_links, 0U);
    expect_balance(agent_);
    EXPECT_EQ(agent_.detach(patience()), 0U);
  }

 private:
  // ---- Send ----
  // The link to another agent; this may take several coordinators.
  [[nodiscard]] std::optional<Peer> open(std::uint32_t to) {
    if (peers_[to].valid()) return peers_[to];
    const auto peer = agent_.peer(player_name(to));
    if (peer) return peers_[to] = *peer;
    EXPECT_NE(peer.error().code, ErrorCode::kPeerDead) << peer.error().text;
    EXPECT_NE(peer.error().code, ErrorCode::kDenied) << peer.error().text;
    return std::nullopt;
  }

  void send_one() {
    const std::uint32_t to = addressees_[random_() % addressees_.size()];
    if (board_.ledger.attempted(self_, to) >= board_.allowance.load()) return;
    const auto peer = open(to);
    if (!peer) return;
    const std::uint64_t sequence = board_.ledger.attempt(self_, to);
    if (sequence == kMaxSequences) return;
    // A task answers only its parent.
    const bool may_ask = writes(to, self_);
    if (may_ask && random_() % 8 == 0) return ask(*peer, to, sequence);
    note_sent(to, sequence, send_letter(*peer, to, sequence));
  }

  // Inline, copied into a slab, or written into a loan.
  SendResult send_letter(const Peer& peer, std::uint32_t to, std::uint64_t sequence) {
    const PayloadHead head{self_, to, sequence, 0};
    const std::size_t length = mixed_length(random_());
    const SendOptions options{.rank = rank_of(sequence), .inherit = false};
    if (random_() % 8 == 0) {
      auto loan = agent_.loan(peer, length);
      if (!loan) return {SendStatus::kFull, 0, 0};
      write_payload(loan->bytes(), head);
      return agent_.send(*loan, options);
    }
    return agent_.send_until(peer, letter(head, length), after(10ms), options);
  }

  [[nodiscard]] static std::vector<std::byte> letter(const PayloadHead& head, std::size_t length) {
    std::vector<std::byte> payload(length);
    write_payload(payload, head);
    return payload;
  }

  void note_sent(std::uint32_t to, std::uint64_t sequence, const SendResult& sent) {
    if (sent) return board_.ledger.accept(self_, to, sequence, sent.id);
    EXPECT_EQ(sent.status, SendStatus::kFull) << to_string(sent.status);
    board_.ledger.refuse(self_, to, sequence);
  }

  // Waits for the answer, or leaves it to receive_some().
  void ask(const Peer& peer, std::uint32_t to, std::uint64_t sequence) {
    ++board_.questions;
    const auto payload = letter({self_, to, sequence, 0}, mixed_length(random_()));
    const SendOptions options{.rank = rank_of(sequence), .type = kQuestion, .inherit = false};
    if (random_() % 4 != 0 && open_questions_ < kOpenQuestions) {
      const SendResult sent = agent_.fire_and_forget(peer, payload, options);
      if (sent) ++open_questions_;
      return note_sent(to, sequence, sent);
    }
    auto answer = agent_.request(peer, payload, after(50ms), options);
    if (answer) {
      board_.ledger.accept(self_, to, sequence, answer->reply_to());
      return take(std::move(*answer));
    }
    // After a timeout the question may or may not have been sent. It was if the receiver reports
    // that it has ended it, and the receiver's ledger says how.
    const ErrorCode code = answer.error().code;
    if (code == ErrorCode::kTimeout || code == ErrorCode::kUnanswered ||
        code == ErrorCode::kRejected) {
      return;
    }
    EXPECT_EQ(answer.error().code, ErrorCode::kFull) << answer.error().text;
    board_.ledger.refuse(self_, to, sequence);
  }

  void answer(Message& question, std::uint32_t to) {
    const std::uint64_t sequence = board_.ledger.attempt(self_, to);
    if (sequence == kMaxSequences) return;
    const std::size_t length = sizeof(PayloadHead) + random_() % kLongestAnswer;
    const auto payload = letter({self_, to, sequence, 0}, length);
    const SendResult sent =
        agent_.reply_until(question, payload, after(10ms), {.type = kTaskResponse});
    if (sent) ++board_.answers;
    note_sent(to, sequence, sent);
  }

  // ---- Receive ----
  void receive_some() {
    if (!receive_one()) {
      if (auto message = wait_for_message()) take(std::move(*message));
    }
    for (int left = 24; left > 0 && receive_one(); --left) {
    }
  }

  bool receive_one() {
    std::vector<Message> answers = agent_.drain_pending_results();
    for (Message& each : answers) {
      if (open_questions_ > 0) --open_questions_;
      take(std::move(each));
    }
    auto message = agent_.try_receive();
    if (message) take(std::move(*message));
    return message.has_value() || !answers.empty();
  }

  std::optional<Message> wait_for_message() {
    if (event_fd_ >= 0) {
      (void)os::wait_readable(event_fd_, 5ms);
      return agent_.try_receive();
    }
    auto message = agent_.receive({.timeout = 5ms});
    if (message) return std::move(*message);
    return std::nullopt;
  }

  void take(Message message) {
    if (message.is_copy()) return take_copy(std::move(message));
    const auto receipt = mail_.receive(message, [&](std::uint32_t sender) -> Pid {
      return sender < kAgents ? board_.pids[sender].load() : 0;
    });
    if (!receipt) return message.done();
    if (message.reply_to() != 0) return mail_.hold(std::move(message), *receipt, random_);
    expect_order(*receipt);
    const bool acts = board_.rest.load() == 0;
    if (acts && message.type() == kQuestion) answer(message, receipt->sender);
    const std::uint64_t chance = random_() % 128;
    if (chance == 0 && receipt->attempts < 8) {
      ++board_.put_back;
      return message.requeue();
    }
    if (chance == 1) {
      ++board_.rejected;
      message.reject();
      board_.ledger.finish(*receipt);
      if (agent_.counters().dead >= kMostLetters) let_letters_go();
      return;
    }
    mail_.hold(std::move(message), *receipt, random_);
  }

  // A rejected message is as little lost as a finished one: the ledger knows each letter.
  void let_letters_go() {
    if (agent_.counters().dead == 0) return;
    for (const InboxItem& item : agent_.inbox(std::numeric_limits<std::size_t>::max())) {
      if (!item.dead) continue;
      mail_.bury(item, [&] { EXPECT_TRUE(agent_.purge_dead(item.id)); });
    }
  }

  // A copy of a message between two children of ours.
  void take_copy(Message copy) {
    ++board_.copies;
    const auto head = read_payload(copy.payload());
    const bool proven = copy.is_cut() || (head && board_.pids[head->receiver].load() == copy.to());
    if (!proven) {
      const Ledger::Receipt receipt{0, self_, 0, copy.id(), copy.attempts()};
      board_.ledger.complain(Fault::kDamaged, receipt, copy.payload().size());
    }
    copy.done();
  }

  // Messages of one sender and one rank are handed out in the order of their sends; redelivered
  // ones come at any time.
  void expect_order(const Ledger::Receipt& receipt) {
    if (receipt.attempts != 0 || receipt.sender >= kAgents) return;
    auto& next = board_.in_order[receipt.sender][self_][rank_of(receipt.sequence)];
    if (receipt.sequence < next.load()) {
      return board_.ledger.complain(Fault::kOvertaken, receipt, next.load());
    }
    next.store(receipt.sequence + 1);
  }

  // All links are open, so their number is known; none of its mail and dead letters are left.
  void have_nothing_left(std::uint32_t rest) {
    mail_.finish_all();
    let_letters_go();
    bool ready = true;
    for (const std::uint32_t to : addressees_) ready = open(to).has_value() && ready;
    const InboxCounters counters = agent_.counters();
    expect_balance(agent_);
    ready = ready && counters.queued + counters.leased + counters.dead == 0;
    board_.rests[self_].store(ready ? rest : 0);
  }

  ChaosBoard& board_;
  std::uint32_t self_;
  Agent agent_;
  Random random_;
  std::vector<std::uint32_t> addressees_;
  std::array<Peer, kAgents> peers_{};
  std::size_t open_questions_ = 0;
  int event_fd_ = -1;
  Correspondent mail_;
};

BEELINE_ROLE(chaos_agent) { ChaosAgent(context.board<ChaosBoard>(), context.number).run(); }

}  // namespace
}  // namespace beeline::test
