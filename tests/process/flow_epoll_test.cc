// A whole life in a loop that waits in epoll_wait() and nowhere else: attach, a peer that is not
// there yet, a full lane, fifty requests at once, a limit of concurrency, detach.

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <beeline/attaching.h>

#include "tests/support/blocking_calls.h"
#include "tests/support/hive_test.h"
#include "tests/support/user_epoll.h"

namespace beeline::test {
namespace {

constexpr std::uint32_t kPeers = 50;
constexpr std::uint32_t kJobs = 20;
constexpr std::size_t kAtOnce = 3;

struct EpollBoard {
  Event attached;
  Event come;  // the latecomer attaches
  Event take;  // it takes what fills its lane
  Event over;
};

class FlowEpoll : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowEpoll);

// Fifty agents that answer.
BEELINE_ROLE(fifty) {
  auto& board = context.board<EpollBoard>();
  std::vector<Agent> agents;
  for (std::uint32_t i = 0; i < kPeers; ++i) {
    auto agent = attach("peer-" + std::to_string(i));
    ASSERT_TRUE(agent);
    agents.push_back(std::move(*agent));
  }
  board.attached.raise();
  const Deadline end = patience();
  while (board.over.count() == 0 && std::chrono::steady_clock::now() < end) {
    for (Agent& agent : agents) {
      while (auto message = agent.try_receive()) message->done("answer of " + agent.name());
    }
    (void)board.over.await(1, after(1ms));
  }
}

// Comes later, is slow to take, then gives jobs and counts the answers.
BEELINE_ROLE(late) {
  auto& board = context.board<EpollBoard>();
  ASSERT_TRUE(board.come.await(1, patience()));
  auto agent = attach("late");
  ASSERT_TRUE(agent);
  ASSERT_TRUE(board.take.await(1, patience()));
  next_message(*agent).done();
  const Deadline quiet = after(20ms);
  while (std::chrono::steady_clock::now() < quiet) {
    if (auto message = agent->receive({.timeout = 1ms})) message->done();
  }
  for (std::uint32_t job = 0; job < kJobs; ++job) {
    ASSERT_TRUE(agent->send_until("loop", std::to_string(job), patience(), {.type = "job"}));
  }
  for (std::uint32_t job = 0; job < kJobs;) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    if (message.type() == "result") ++job;
    message.done();
  }
}

// The program. It calls nothing that waits, except epoll_wait().
class Program {
 public:
  Program(EpollBoard& board, bool edge) : board_(board), epoll_(edge) {}

  void run() {
    ASSERT_NO_FATAL_FAILURE(join());
    ASSERT_NO_FATAL_FAILURE(fill());
    ASSERT_NO_FATAL_FAILURE(ask_all());
    ASSERT_NO_FATAL_FAILURE(work());
    ASSERT_NO_FATAL_FAILURE(leave());
  }

 private:
  EventLoop loop() { return agent_->loop(); }
  template <typename IsOver>
  void until(IsOver&& is_over) {
    loop_until(*agent_, epoll_, end_, is_over);
  }

  void join() {
    auto attaching = Attaching::start(options());
    ASSERT_TRUE(attaching) << attaching.error().text;
    epoll_.add(attaching->fd());
    ASSERT_TRUE(epoll_.wait(end_));
    auto agent = attaching->finish();
    ASSERT_TRUE(agent) << agent.error().text;
    agent_.emplace(std::move(*agent));
    epoll_.add(agent_->fd());
  }

  static AttachOptions options() {
    AttachOptions options = named("loop");
    options.normal_slots = 16;
    return options;
  }

  [[nodiscard]] Peer find(const std::string& name) {
    const auto call = loop().find_peer(name, end_);
    EXPECT_TRUE(call);
    until([](const Readiness& found) { return found.peers != 0; });
    const auto found = loop().next_peer();
    EXPECT_TRUE(found && found->peer);
    return found && found->peer ? *found->peer : Peer{};
  }

  // More messages than the lane holds, to a peer that is not there yet.
  void fill() {
    const auto call = loop().find_peer("late", end_);
    ASSERT_TRUE(call);
    EXPECT_EQ(loop().poll().peers, 0U);
    board_.come.raise();
    until([](const Readiness& found) { return found.peers != 0; });
    const auto found = loop().next_peer();
    ASSERT_TRUE(found && found->peer);
    late_ = *found->peer;
    for (int i = 0; i < 50; ++i) ASSERT_NO_FATAL_FAILURE(send_late("filling"));
    EXPECT_NE(board_.take.count(), 0U) << "the lane was full";
  }

  // Waits for room in the lane as often as the lane is full.
  void send_late(std::string_view text, const SendOptions& options = {}) {
    for (;;) {
      const SendResult sent = agent_->send(late_, text, options);
      if (sent) return;
      ASSERT_EQ(sent.status, SendStatus::kFull);
      board_.take.raise();
      ASSERT_TRUE(loop().want_space(late_, true));
      ASSERT_NO_FATAL_FAILURE(until([](const Readiness& seen) { return seen.spaces != 0; }));
      EXPECT_TRUE(loop().next_space());
    }
  }

  void ask_all() {
    std::map<MessageId, std::string> asked;
    for (std::uint32_t i = 0; i < kPeers; ++i) {
      const std::string name = "peer-" + std::to_string(i);
      peers_.push_back(find(name));
      ASSERT_TRUE(peers_.back().valid());
    }
    for (std::uint32_t i = 0; i < kPeers; ++i) {
      const auto id = loop().request(peers_[i], "?", end_);
      ASSERT_TRUE(id) << id.error().text;
      asked[*id] = "answer of peer-" + std::to_string(i);
    }
    while (!asked.empty()) {
      ASSERT_NO_FATAL_FAILURE(until([](const Readiness& seen) { return seen.answers != 0; }));
      while (auto answered = loop().next_answer()) {
        ASSERT_TRUE(answered->answer) << answered->answer.error().text;
        EXPECT_EQ(answered->answer->text(), asked.at(answered->id));
        asked.erase(answered->id);
      }
    }
  }

  // Each job needs an answer of a peer, and no more than a few are in hand.
  void work() {
    std::uint32_t finished = 0;
    std::map<MessageId, Message> in_hand;
    std::size_t most = 0;
    ASSERT_NO_FATAL_FAILURE(
        until([&](const Readiness&) { return agent_->counters().queued >= kAtOnce; }));
    while (finished < kJobs) {
      Readiness seen = loop().poll();
      while (in_hand.size() < kAtOnce) {
        auto job = agent_->try_receive({.type = "job"});
        if (!job) break;
        const Peer to = peers_[finished % kPeers];
        const auto id = loop().request(to, job->text(), end_, {.about = &*job});
        ASSERT_TRUE(id) << id.error().text;
        in_hand.emplace(*id, std::move(*job));
        most = std::max(most, in_hand.size());
      }
      while (auto answered = loop().next_answer()) {
        ASSERT_TRUE(answered->answer) << answered->answer.error().text;
        Message job = std::move(in_hand.at(answered->id));
        in_hand.erase(answered->id);
        ASSERT_NO_FATAL_FAILURE(send_late(job.text(), {.type = "result", .about = &job}));
        job.done();
        ++finished;
      }
      seen = loop().poll();
      const bool has_work = seen.answers != 0 || (seen.messages != 0 && in_hand.size() < kAtOnce);
      ASSERT_LT(std::chrono::steady_clock::now(), end_) << finished << " jobs are finished";
      if (!has_work && finished < kJobs) epoll_.wait(std::min(seen.next, end_));
    }
    EXPECT_EQ(most, kAtOnce);
  }

  void leave() {
    loop().start_detach(end_);
    ASSERT_NO_FATAL_FAILURE(until([](const Readiness& seen) { return seen.ended; }));
    EXPECT_EQ(loop().left_behind(), 0U);
  }

  EpollBoard& board_;
  const Deadline end_ = patience();
  UserEpoll epoll_;
  std::optional<Agent> agent_;
  Peer late_;
  std::vector<Peer> peers_;
};

void live(EpollBoard& board, Troupe& troupe, bool edge) {
  troupe.start("fifty");
  troupe.start("late");
  ASSERT_TRUE(board.attached.await(1, patience()));
  const auto calls = count_blocking_calls([&] { Program(board, edge).run(); });
  board.over.raise();
  board.come.raise();
  board.take.raise();
  if (!calls) GTEST_SKIP() << "this kernel refuses a filter that asks";
  EXPECT_TRUE(calls->others.empty()) << testing::PrintToString(calls->others);
  EXPECT_GT(calls->epoll_waits, 0U);
  troupe.wait_all(patience());
}

TEST_P(FlowEpoll, AWholeLifeWaitsNowhereElseLevelTriggered) {
  live(board<EpollBoard>(), troupe(), false);
}

TEST_P(FlowEpoll, AWholeLifeWaitsNowhereElseEdgeTriggered) {
  live(board<EpollBoard>(), troupe(), true);
}

}  // namespace
}  // namespace beeline::test
