// Agents that are away for good, and the resources that are kept for agents that come back.

#include <sys/resource.h>

#include "coordinator_fixture.h"
#include "src/control/letters_client.h"

namespace beeline::control {
namespace {

class ForgetTest : public CoordinatorTest {
 protected:
  // An agent that attached and has left.
  static TestAgent away(const std::string& name) {
    TestAgent left = agent(named(name));
    EXPECT_TRUE(is_ok(left.client.detach({})));
    return left;
  }
  // Leaves a message for `to`, and ends.
  static void leave_message(Pid to) {
    TestAgent sender = agent(AttachRequest());
    EXPECT_TRUE(is_ok(sender.open(to)));
    sender.publish(1, 0);
    EXPECT_TRUE(is_ok(sender.client.detach({})));
  }
  static void limit(pid_t process, rlim_t files) {
    rlimit limit{};
    ASSERT_EQ(::prlimit(process, RLIMIT_NOFILE, nullptr, &limit), 0);
    limit.rlim_cur = std::min(files, limit.rlim_max);
    ASSERT_EQ(::prlimit(process, RLIMIT_NOFILE, &limit, nullptr), 0);
  }
};

TEST_F(ForgetTest, AnAgentWithoutANameIsTemporary) {
  start();
  Client client = connect();
  {
    TestAgent nameless = agent(AttachRequest());
    const auto agents = client.list_all();
    ASSERT_TRUE(is_ok(agents));
    EXPECT_TRUE(agents->back().temporary);
    EXPECT_EQ(agents->back().name, nameless.attached.name);
    ASSERT_TRUE(is_ok(nameless.client.detach({})));
  }
  EXPECT_EQ(client.status()->away, 0U);
}

TEST_F(ForgetTest, AForgottenAgentsMessagesAreDeadLettersAndItsNameIsFree) {
  start();
  const TestAgent old = away("worker");
  leave_message(old.pid());
  Client client = connect();
  const auto forgotten = client.forget("worker");
  ASSERT_TRUE(is_ok(forgotten));
  EXPECT_EQ(*forgotten, 1U);
  const auto letters = list_kept_letters(client);
  ASSERT_TRUE(is_ok(letters));
  ASSERT_EQ(letters->size(), 1U);
  EXPECT_EQ(letters->front().to_name, "worker");
  EXPECT_EQ(client.status()->away, 0U);
  EXPECT_TRUE(has_error(client.forget("worker"), ErrorCode::kPeerDead, "for good already"));
  TestAgent fresh;
  ASSERT_TRUE(is_ok(fresh.attach(named("worker"))));
  EXPECT_NE(fresh.pid(), old.pid());
  EXPECT_EQ(fresh.attached.predecessor, shm::kNoIncarnation);
}

TEST_F(ForgetTest, APurgeLetsTheMessagesGoToo) {
  start();
  const TestAgent old = away("worker");
  leave_message(old.pid());
  Client client = connect();
  const auto forgotten = client.forget(std::to_string(old.pid()), true);
  ASSERT_TRUE(is_ok(forgotten));
  EXPECT_EQ(*forgotten, 1U);
  const auto letters = list_kept_letters(client);
  ASSERT_TRUE(is_ok(letters));
  EXPECT_TRUE(letters->empty());
}

TEST_F(ForgetTest, AnAgentWithAProcessIsNotForgotten) {
  start();
  TestAgent lives = agent(named("lives"));
  Client client = connect();
  EXPECT_TRUE(has_error(client.forget("lives"), ErrorCode::kAlreadyRunning, "is run by process"));
  EXPECT_TRUE(has_error(client.forget("nobody"), ErrorCode::kNoAgent, "beeline tree"));
  EXPECT_TRUE(has_error(client.forget("king"), ErrorCode::kDenied, "beeline down"));
  EXPECT_TRUE(is_ok(lives.client.status()));
}

TEST_F(ForgetTest, AnAgentThatWasForgottenStaysSoOverARestartOfTheCoordinator) {
  start();
  const TestAgent old = away("worker");
  leave_message(old.pid());
  Client client = connect();
  ASSERT_TRUE(is_ok(client.forget("worker")));
  ASSERT_EQ(::kill(client.status()->coordinator_pid, SIGKILL), 0);
  ASSERT_TRUE(eventually([&] { return client.reconnect() && client.status(); }));
  EXPECT_EQ(client.status()->away, 0U);
  TestAgent fresh;
  ASSERT_TRUE(is_ok(fresh.attach(named("worker"))));
  EXPECT_NE(fresh.pid(), old.pid());
}

// ---- Room ---------------------------------------------------------------------------------------

TEST_F(ForgetTest, NewNamesAreRefusedBeforeOneThatComesBackWouldFindNoRoom) {
  start();
  const TestAgent worker = away("worker");
  Client client = connect();
  ASSERT_NO_FATAL_FAILURE(limit(client.status()->coordinator_pid, 256));
  Result<void> attached;
  int names = 0;
  for (; attached && names < 200; ++names) {
    TestAgent next;
    attached = next.attach(named("job-" + std::to_string(names)));
    if (attached) attached = next.provide(true);
    if (attached) attached = next.client.detach({});
  }
  EXPECT_TRUE(has_error(attached, ErrorCode::kFull, "`beeline forget NAME`"));
  EXPECT_GT(names, 10);
  leave_message(worker.pid());  // by a temporary agent, because there is room for those
  TestAgent back = agent(named("worker"));
  EXPECT_EQ(back.pid(), worker.pid());
  EXPECT_EQ(back.attached.in_links, 1U);
  ASSERT_TRUE(is_ok(client.forget("job-0")));
  EXPECT_TRUE(is_ok(TestAgent().attach(named("new")))) << "the advice works";
}

TEST_F(ForgetTest, AnAgentThatIsAwayForLongWithNothingLeftIsLetGoIfTheHiveIsToldSo) {
  start({"--forget-empty-after", "200ms"});
  const TestAgent empty = away("empty");
  const TestAgent owed = away("owed");
  leave_message(owed.pid());
  TestAgent lives = agent(named("lives"));
  const auto has = [&](const std::string& name) {
    const auto agents = lives.client.list_all();
    EXPECT_TRUE(is_ok(agents));
    return std::any_of(agents->begin(), agents->end(), [&](const ListedAgent& listed) {
      return listed.name == name && listed.state != shm::AgentState::kDead;
    });
  };
  EXPECT_TRUE(eventually([&] { return !has("empty"); }));
  EXPECT_TRUE(eventually([&] { return log().find("event=let_go") != std::string::npos; }));
  EXPECT_TRUE(has("owed"));
  EXPECT_TRUE(has("lives"));
  TestAgent back;
  ASSERT_TRUE(is_ok(back.attach(named("owed"))));
  EXPECT_EQ(back.pid(), owed.pid());
}

// ---- Numbers ------------------------------------------------------------------------------------

TEST_F(ForgetTest, TheStatusSaysHowManyNumbersOfAgentsAreLeft) {
  start();
  TestAgent first = agent(named("first"));
  const auto status = first.client.status();
  ASSERT_TRUE(is_ok(status));
  EXPECT_EQ(status->pids_used, first.pid());
  EXPECT_EQ(status->pids_used + status->pids_left, shm::kMaxPid);
}

}  // namespace
}  // namespace beeline::control
