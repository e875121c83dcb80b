// Named queues do not exist yet: a sender that names one gets an error, and nothing is sent.

#include <string>

#include "tests/support/hive_test.h"
#include "tools/beeline/accounts.h"

namespace beeline::test {
namespace {

struct QueueBoard {
  Event refused;
  Event go;
};

class FlowQueue : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowQueue);

constexpr const char* kQueue = "queue:q";

void expect_none(const Error& error) {
  EXPECT_EQ(error.code, ErrorCode::kNoRoute);
  EXPECT_NE(error.text.find("no queue \"q\""), std::string::npos) << error.text;
  EXPECT_NE(error.text.find("no named queues"), std::string::npos) << error.text;
  EXPECT_NE(error.text.find("send to an agent"), std::string::npos) << error.text;
}

// number = 0: a task, which the original let post to any queue; 1: a worker. Both are under "lead".
BEELINE_ROLE(poster) {
  auto& board = context.board<QueueBoard>();
  AttachOptions options = named("poster-" + std::to_string(context.number), "lead");
  options.role = context.number == 0 ? "task" : "worker";
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  const auto peer = agent->peer(kQueue);
  ASSERT_FALSE(peer);
  expect_none(peer.error());
  EXPECT_EQ(agent->send(kQueue, "x").status, SendStatus::kNoRoute);
  const auto answer = agent->request(kQueue, "x");
  ASSERT_FALSE(answer);
  expect_none(answer.error());
  EXPECT_TRUE(agent->links().empty()) << "no link was opened";
  board.refused.raise();
  ASSERT_TRUE(board.go.await(context.number + 1, patience()));
  EXPECT_EQ(agent->counters().drained, 0U);
  EXPECT_EQ(agent->detach(patience()), 0U);
}

void expect_nothing_accepted(ScratchHive& hive, std::size_t inboxes) {
  auto client = hive.client();
  const auto accounts = cli::read_accounts(client, hive.name());
  ASSERT_TRUE(accounts) << accounts.error().text;
  ASSERT_EQ(accounts->inboxes.size(), inboxes);
  for (const cli::Account& each : accounts->inboxes) EXPECT_EQ(each.accepted, 0U) << each.name;
  EXPECT_EQ(hive.status().dead_letters, 0U);
}

TEST_P(FlowQueue, HK_037_HK_040_C_06_ANamedQueueIsNoRouteForATaskAndForOthers) {
  auto& shared = board<QueueBoard>();
  auto lead = attach("lead");
  auto other = attach("q");  // the part behind the colon names no agent
  ASSERT_TRUE(lead && other);
  for (const std::uint32_t number : {0U, 1U}) {
    const std::size_t place = troupe().start("poster", number);
    ASSERT_TRUE(shared.refused.await(number + 1, patience()));
    ASSERT_NO_FATAL_FAILURE(expect_nothing_accepted(hive(), 3 + number));
    const auto route = hive().client().route("poster-" + std::to_string(number), kQueue);
    ASSERT_FALSE(route);
    expect_none(route.error());
    EXPECT_FALSE(lead->try_receive());
    EXPECT_FALSE(other->try_receive());
    shared.go.raise();
    troupe().wait(place, patience());
  }
}

TEST_P(FlowQueue, HK_040_NobodyTakesTheNameOfAQueue) {
  const auto agent = Agent::attach(named(kQueue));
  ASSERT_FALSE(agent);
  EXPECT_EQ(agent.error().code, ErrorCode::kInvalid);
  EXPECT_NE(agent.error().text.find("\"queue:q\""), std::string::npos) << agent.error().text;
  EXPECT_NE(agent.error().text.find("named queue"), std::string::npos) << agent.error().text;
  EXPECT_TRUE(attach("queue")) << "the word alone is a name like any other";
}

}  // namespace
}  // namespace beeline::test
