// The wait for an agent that has not attached yet, and the other ways in which it ends.

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "src/os/event_fd.h"
#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct WaitBoard {
  Event go;
  Event stop;
};

class FlowWaitFor : public HiveTest {
 protected:
  void SetUp() override { start(GetParam(), 300s, sizeof(WaitBoard)); }
};
BEELINE_BOTH_WORLDS(FlowWaitFor);

// Sends to its parent and leaves for good; only then it attaches under the awaited name.
BEELINE_ROLE(latecomer) {
  AttachOptions options = named("herald", "waiter");
  options.temporary = true;
  auto herald = attach(options);
  ASSERT_TRUE(herald);
  EXPECT_TRUE(herald->send("waiter", "soon"));
  herald.reset();
  auto agent = attach("latecomer");
  ASSERT_TRUE(agent);
  EXPECT_TRUE(context.board<WaitBoard>().stop.await(1, patience()));
}

void expect_words(const Result<Peer>& result, ErrorCode code, const std::string& words) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, code) << result.error().text;
  EXPECT_NE(result.error().text.find(words), std::string::npos) << result.error().text;
}

// A process that ends at once. The caller reaps it.
pid_t start_true() {
  std::string program = "/bin/true";
  char* const arguments[] = {program.data(), nullptr};
  pid_t process = 0;
  EXPECT_EQ(::posix_spawn(&process, program.c_str(), nullptr, nullptr, arguments, environ), 0);
  return process;
}

TEST_P(FlowWaitFor, AnAgentThatComesLaterEndsTheWaitAndNothingIsLostMeanwhile) {
  auto agent = attach("waiter");
  ASSERT_TRUE(agent);
  troupe().start("latecomer");
  const auto peer = agent->wait_for("latecomer", patience());
  ASSERT_TRUE(peer) << peer.error().text;
  EXPECT_TRUE(agent->send(*peer, "welcome"));
  EXPECT_EQ(next_message(*agent).text(), "soon");
  const auto notice = agent->next_notice();
  ASSERT_TRUE(notice);
  EXPECT_EQ(notice->name, "herald");
  EXPECT_EQ(agent->wait_for("latecomer", Deadline::min())->pid, peer->pid) << "it is there";
  board<WaitBoard>().stop.raise();
  troupe().wait_all(patience());
}

TEST_P(FlowWaitFor, ACoordinatorThatIsRestartedMeanwhileDoesNotMatter) {
  auto agent = attach("waiter");
  ASSERT_TRUE(agent);
  std::thread other([&] {
    EXPECT_EQ(::kill(hive().coordinator(), SIGKILL), 0);
    auto late = attach_again(named("late"));
    EXPECT_TRUE(board<WaitBoard>().stop.await(1, patience()));
  });
  const auto peer = agent->wait_for("late", patience());
  EXPECT_TRUE(peer) << peer.error().text;
  board<WaitBoard>().stop.raise();
  other.join();
}

TEST_P(FlowWaitFor, TheDeadlineAndADescriptorEndIt) {
  auto agent = attach("waiter");
  ASSERT_TRUE(agent);
  expect_words(agent->wait_for("nobody", Deadline::min()), ErrorCode::kNoAgent, "\"nobody\"");
  expect_words(agent->wait_for("nobody", after(5ms)), ErrorCode::kNoAgent, "; waited ");
  expect_words(agent->wait_for("queue:x", patience()), ErrorCode::kNoRoute, "queue");
  const auto event = os::create_event_fd();
  ASSERT_TRUE(event);
  std::thread other([&] { os::signal_event(event->get()); });
  expect_words(agent->wait_for("nobody", patience(), {.stop_fd = event->get()}), ErrorCode::kNotice,
               "\"nobody\" was stopped");
  other.join();
  EXPECT_TRUE(os::wait_readable(event->get(), 0ns)) << "nothing was read from it";
  EXPECT_TRUE(agent->wait_for("waiter", patience(), {.stop_fd = event->get()})) << "it is there";
  EXPECT_EQ(agent->detach(patience()), 0U);
  expect_words(agent->wait_for("nobody", patience()), ErrorCode::kClosed, "attach again");
}

TEST_P(FlowWaitFor, AProcessThatEndsBeforeItAttachesEndsIt) {
  auto agent = attach("waiter");
  auto away = attach("worker");
  ASSERT_TRUE(agent && away);
  away.reset();
  EXPECT_TRUE(agent->wait_for("worker", patience())) << "its inbox takes messages";
  for (const char* name : {"nobody", "worker"}) {
    const pid_t process = start_true();
    const std::string words = "process " + std::to_string(process) + " has ended";
    expect_words(agent->wait_for(name, patience(), {.process = process}), ErrorCode::kPeerDead,
                 words);
    ASSERT_EQ(::waitpid(process, nullptr, 0), process);
    expect_words(agent->wait_for(name, patience(), {.process = process}), ErrorCode::kPeerDead,
                 words);
  }
}

TEST_P(FlowWaitFor, AProcessThatAttachesIsThere) {
  auto agent = attach("waiter");
  auto away = attach("latecomer");  // an earlier life does not count
  ASSERT_TRUE(agent && away);
  away.reset();
  const std::size_t place = troupe().start("latecomer");
  const pid_t process = GetParam() == World::kThreads ? ::getpid() : troupe().os_pid(place);
  const auto peer = agent->wait_for("latecomer", patience(), {.process = process});
  ASSERT_TRUE(peer) << peer.error().text;
  EXPECT_NE(agent->info(peer->pid)->state, State::kZombie);
  board<WaitBoard>().stop.raise();
  troupe().wait_all(patience());
  EXPECT_EQ(next_message(*agent).text(), "soon");
}

}  // namespace
}  // namespace beeline::test
