// An agent that waits for a name is told when another agent has it.

#include "coordinator_fixture.h"

namespace beeline::control {
namespace {

TEST_F(CoordinatorTest, AnAgentThatWaitsForANameIsToldOnceWhenSomebodyHasIt) {
  start();
  TestAgent waiter = agent(named("waiter"));
  ASSERT_TRUE(is_ok(waiter.client.await_name({"late"})));
  TestAgent other = agent(named("later"));
  TestAgent late = agent(named("late"));
  auto came = waiter.next<CameAnnouncement>();
  ASSERT_TRUE(came.has_value());
  EXPECT_EQ(came->pid, late.pid());
  EXPECT_EQ(came->name, "late");

  TestAgent again = agent(named("late@host"));
  ASSERT_TRUE(is_ok(waiter.client.await_name({"never"})));
  ASSERT_TRUE(is_ok(waiter.client.await_name({std::to_string(other.pid())})));
  came = waiter.next<CameAnnouncement>();
  ASSERT_TRUE(came.has_value());
  EXPECT_EQ(came->pid, other.pid()) << "it is there, and nothing else was waited for any more";
}

TEST_F(CoordinatorTest, AnAgentThatWaitsForAProcessIsNotToldOfAnAgentWithoutOne) {
  start();
  TestAgent waiter = agent(named("waiter"));
  {
    TestAgent first = agent(named("worker"));
    ASSERT_TRUE(is_ok(first.client.detach({})));
  }
  ASSERT_TRUE(is_ok(waiter.client.await_name({"worker", true})));
  EXPECT_TRUE(is_ok(waiter.client.status())) << "an answer, behind what it would have been told";
  EXPECT_FALSE(waiter.next<CameAnnouncement>(0ns).has_value());
  TestAgent second = agent(named("worker"));
  const auto came = waiter.next<CameAnnouncement>();
  ASSERT_TRUE(came.has_value());
  EXPECT_EQ(came->pid, second.pid());
}

}  // namespace
}  // namespace beeline::control
