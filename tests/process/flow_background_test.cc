// The queen accepts a task at once, works on it in the background, and answers later.

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct BackgroundBoard {
  Event attached;
  Event go;  // counts the works that may end
};

class FlowBackground : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowBackground);

constexpr std::string_view kWorkDone = "work_done";

// A thread works on each task, and reports to the agent through its inbox.
class Queen {
 public:
  explicit Queen(BackgroundBoard& board) : board_(board), agent_(attach("queen")) {
    board.attached.raise();
  }
  void run() {
    ASSERT_TRUE(agent_);
    self_ = peer_of(*agent_, "queen");
    const auto served = agent_->serve([this](Message& message) { return handle(message); });
    EXPECT_TRUE(served) << served.error().text;
    for (std::thread& worker : workers_) worker.join();
    EXPECT_EQ(agent_->detach(patience()), 0U);
    expect_balance(*agent_);
  }

 private:
  Ack handle(Message& message) {
    if (message.type() == "stop") agent_->stop_serving();
    if (message.type() == kTaskRequest || message.type() == kCronTask) return take_over(message);
    if (message.type() == kWorkDone) finish(message.reply_to(), message.text());
    return {};
  }
  Ack take_over(Message& message) {
    if (message.text().empty()) {
      EXPECT_TRUE(agent_->reply(message, R"({"error":"empty task"})", {.type = kTaskResponse}));
      return {};
    }
    // The thread ends before the agent, so the agent is alive in it.
    workers_.emplace_back([this, sender = agent_->shared_sender(), id = message.id(),
                           ends = static_cast<std::uint32_t>(workers_.size()) + 1,
                           task = std::string(message.text())]() mutable {
      EXPECT_TRUE(board_.go.await(ends, patience()));
      EXPECT_TRUE(sender.send(self_, R"({"exit_code":0,"output":")" + task + R"("})",
                              {.type = kWorkDone, .reply_to = id}, patience()));
    });
    return {AckStatus::kQueued, {}};  // stays leased for held()
  }
  void finish(MessageId id, std::string_view result) {
    auto task = agent_->held(id);
    ASSERT_TRUE(task) << task.error().text;
    EXPECT_TRUE(agent_->reply(*task, result, {.type = kTaskResponse}));
    task->done();
  }

  BackgroundBoard& board_;
  std::optional<Agent> agent_;
  Peer self_;
  std::vector<std::thread> workers_;
};

BEELINE_ROLE(queen) { Queen(context.board<BackgroundBoard>()).run(); }

TEST_P(FlowBackground, HK_070_TheAcknowledgementComesBeforeTheWorkEnds) {
  auto& shared = board<BackgroundBoard>();
  auto agent = attach("client");
  ASSERT_TRUE(agent);
  troupe().start("queen");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  const Peer queen = peer_of(*agent, "queen");
  std::map<MessageId, std::string> expected;
  for (const std::string_view type : {kTaskRequest, kCronTask}) {
    const auto sent = agent->fire_and_forget(queen, type, {.type = type, .requires_ack = true});
    ASSERT_TRUE(sent);
    // No work may end yet.
    const auto ack = agent->await_ack(queen, sent.id, patience());
    ASSERT_TRUE(ack) << ack.error().text;
    EXPECT_EQ(to_string(ack->status), to_string(AckStatus::kQueued)) << type;
    expected[sent.id] = R"({"exit_code":0,"output":")" + std::string(type) + R"("})";
  }
  EXPECT_TRUE(agent->drain_pending_results().empty()) << "no work has ended";
  // Other messages are handled meanwhile.
  auto empty = agent->request(queen, "", patience(), {.type = kTaskRequest});
  ASSERT_TRUE(empty) << empty.error().text;
  EXPECT_EQ(empty->text(), R"({"error":"empty task"})");
  empty->done();

  shared.go.raise(2);
  std::map<MessageId, std::string> results;
  ASSERT_NO_FATAL_FAILURE(drain_until(*agent, [&] {
    for (Message& result : agent->drain_pending_results()) {
      EXPECT_EQ(result.type(), kTaskResponse);
      results[result.reply_to()] = result.text();
      result.done();
    }
    return results.size() == 2;
  }));
  EXPECT_EQ(results, expected);
  EXPECT_TRUE(agent->send(queen, "", {.type = "stop"}));
  troupe().wait_all(patience());
  expect_balance(*agent);
}

}  // namespace
}  // namespace beeline::test
