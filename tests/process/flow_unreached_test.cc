// Escalations of a handler that no agent above can be asked to take.

#include <signal.h>
#include <sys/resource.h>

#include <string>
#include <vector>

#include "src/control/log_gate.h"
#include "src/os/event_fd.h"
#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct UnreachedBoard {
  Event attached;
  Event go;
  Event sent;
};

class FlowUnreached : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowUnreached);

constexpr const char* kQuestion = "what now?";

TEST_P(FlowUnreached, C_08_AnEscalationThatTheCoordinatorDoesNotLogIsADeadLetter) {
  constexpr std::size_t kLogged = control::LogGate::kEscalations.agent.burst;
  constexpr std::size_t kAll = kLogged + 10;
  auto top = attach("top");
  auto asker = attach("asker");
  ASSERT_TRUE(top && asker);
  const Peer to = peer_of(*asker, "top");
  std::vector<SendResult> sent;
  for (std::size_t i = 0; i < kAll; ++i) {
    sent.push_back(asker->send(to, "issue " + std::to_string(i), {.requires_ack = true}));
    ASSERT_TRUE(sent.back());
  }
  std::size_t calls = 0;
  const auto pass_on = [&](Message&) { return ++calls, Ack{AckStatus::kEscalate, {}}; };
  const auto served = top->serve(pass_on, {.most = kAll});
  ASSERT_TRUE(served && *served == kAll);
  EXPECT_EQ(calls, kAll) << "nobody is asked twice";
  const InboxCounters counts = top->counters();
  EXPECT_GE(counts.done, kLogged);
  EXPECT_GE(counts.dead, 1U) << "more than the coordinator writes down at once";
  EXPECT_EQ(counts.done + counts.dead, kAll);
  EXPECT_NE(hive().log().find("issue " + std::to_string(kLogged - 1)), std::string::npos);
  // It is open which ones: the coordinator allows a further line now and then, also between two of
  // them.
  std::size_t refused = 0;
  for (const SendResult& each : sent) {
    const auto ack = asker->await_ack(to, each.id, patience());
    ASSERT_TRUE(ack) << ack.error().text;
    if (ack->status == AckStatus::kEscalate) continue;
    ++refused;
    EXPECT_EQ(ack->status, AckStatus::kRejected);
    EXPECT_EQ(ack->reply, "it could not be escalated: full");
  }
  EXPECT_EQ(refused, counts.dead);
  expect_balance(*top);
}

// Asks the agent of that number, when the test says so, a question that it escalates.
BEELINE_ROLE(asker_of_the_helpless) {
  auto& board = context.board<UnreachedBoard>();
  auto agent = attach("asker");
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, context.number == 0 ? "top" : "middle");
  ASSERT_TRUE(agent->send(to, "hello"));
  ASSERT_TRUE(board.go.await(1, patience()));
  const auto ack = agent->send_acked(to, kQuestion, patience());
  ASSERT_TRUE(ack) << ack.error().text;
  EXPECT_EQ(ack->status, AckStatus::kEscalate);
}

// Lets an agent escalate its question while the coordinator hangs, kills the coordinator, and waits
// until the message has gone up.
void escalate_without_coordinator(Agent& agent, pid_t coordinator, Event& go) {
  Message hello = next_message(agent);
  ASSERT_TRUE(hello.valid());
  hello.done();
  ASSERT_EQ(::kill(coordinator, SIGSTOP), 0);
  const int fd = agent.fd();
  go.raise();
  const auto pass_on = [](Message&) { return Ack{AckStatus::kEscalate, {}}; };
  const auto served = agent.serve(pass_on, {.most = 1});
  EXPECT_TRUE(served && *served == 1);
  EXPECT_TRUE(os::wait_readable(fd, kPatience)) << "nobody rings, so it looks by itself";
  EXPECT_EQ(agent.counters().leased, 1U);
  ASSERT_EQ(::kill(coordinator, SIGKILL), 0);
  ASSERT_NO_FATAL_FAILURE(drain_until(agent, [&] { return agent.counters().leased == 0; }));
  EXPECT_EQ(agent.counters().done, 2U);
  EXPECT_EQ(agent.counters().requeued, 0U) << "it is no failed attempt";
  expect_balance(agent);
}

// Waits briefly for a coordinator that hangs, but long enough to attach on a busy machine.
[[nodiscard]] AttachOptions hasty(const std::string& name, const std::string& parent = "") {
  AttachOptions options = named(name, parent);
  options.control_timeout = 2s;
  return options;
}

TEST_P(FlowUnreached, C_08_AnEscalationThatFindsNoCoordinatorWaitsForOne) {
  auto top = attach(hasty("top"));
  ASSERT_TRUE(top);
  troupe().start("asker_of_the_helpless", 0);
  auto& go = board<UnreachedBoard>().go;
  ASSERT_NO_FATAL_FAILURE(escalate_without_coordinator(*top, hive().coordinator(), go));
  troupe().wait_all(patience());
  EXPECT_NE(hive().log().find(kQuestion), std::string::npos);
}

TEST_P(FlowUnreached, C_08_AnEscalationThatNeedsANewLinkWaitsForACoordinator) {
  auto top = attach("top");
  auto middle = attach(hasty("middle", "top"));
  ASSERT_TRUE(top && middle);
  troupe().start("asker_of_the_helpless", 1);
  auto& go = board<UnreachedBoard>().go;
  ASSERT_NO_FATAL_FAILURE(escalate_without_coordinator(*middle, hive().coordinator(), go));
  troupe().wait_all(patience());
  Message issue = next_message(*top);
  ASSERT_TRUE(issue.valid());
  EXPECT_EQ(issue.type(), kEscalation);
  EXPECT_EQ(issue.text(), kQuestion);
  issue.done();
  EXPECT_EQ(hive().log().find(kQuestion), std::string::npos) << "nobody is bypassed";
}

TEST_P(FlowUnreached, C_08_AMessageAtItsLimitOfHopsWaitsForNoCoordinator) {
  AttachOptions options = hasty("worker", "lead");
  options.max_hops = 1;
  auto lead = attach("lead");
  auto worker = attach(options);
  ASSERT_TRUE(lead && worker);
  const SendResult asked = worker->send(peer_of(*worker, "lead"), kQuestion);
  ASSERT_TRUE(asked);
  ASSERT_TRUE(lead->send(peer_of(*lead, "worker"), "this", {.reply_to = asked.id, .hops = 1}));
  ASSERT_NO_FATAL_FAILURE(await_queued(*worker, 1));
  const pid_t stopped = hive().coordinator();
  ASSERT_EQ(::kill(stopped, SIGSTOP), 0);
  EXPECT_FALSE(worker->siblings()) << "it knows that there is none";
  const auto pass_on = [](Message&) { return Ack{AckStatus::kEscalate, {}}; };
  const auto served = worker->serve(pass_on, {.most = 1});
  EXPECT_TRUE(served && *served == 1);
  const std::vector<InboxItem> letters = worker->inbox();
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters.front().reason, "rejected");
  ASSERT_EQ(::kill(stopped, SIGCONT), 0);
  while (auto data = lead->try_receive()) data->done();
}

// While an object exists, the coordinator has descriptors for its answers, but for no further link.
class NoRoomForLinks {
 public:
  explicit NoRoomForLinks(pid_t coordinator) : coordinator_(coordinator) {
    EXPECT_EQ(::prlimit(coordinator, RLIMIT_NOFILE, nullptr, &files_), 0);
    const rlimit few{count_open_fds(coordinator) + 4, files_.rlim_max};
    EXPECT_EQ(::prlimit(coordinator, RLIMIT_NOFILE, &few, nullptr), 0);
  }
  ~NoRoomForLinks() { EXPECT_EQ(::prlimit(coordinator_, RLIMIT_NOFILE, &files_, nullptr), 0); }
  NoRoomForLinks(const NoRoomForLinks&) = delete;
  NoRoomForLinks& operator=(const NoRoomForLinks&) = delete;

 private:
  pid_t coordinator_;
  rlimit files_{};
};

BEELINE_ROLE(unreached_middle) {
  auto agent = attach("middle", "top");
  ASSERT_TRUE(agent);
  context.board<UnreachedBoard>().attached.raise();
  Message issue = next_message(*agent);
  ASSERT_TRUE(issue.valid());
  EXPECT_EQ(issue.type(), kEscalation);
  EXPECT_EQ(issue.text(), kQuestion);
  issue.done();
  EXPECT_EQ(agent->detach(patience()), 0U);
}

// Has a link to the top, and can open none to the middle.
BEELINE_ROLE(linkless_bottom) {
  auto& board = context.board<UnreachedBoard>();
  auto agent = attach("bottom", "middle");
  ASSERT_TRUE(agent);
  ASSERT_NO_FATAL_FAILURE(await_queued(*agent, 1));
  ASSERT_TRUE(agent->send(peer_of(*agent, "top"), "here"));
  board.attached.raise();
  ASSERT_TRUE(board.go.await(1, patience()));
  const auto pass_on = [](Message&) { return Ack{AckStatus::kEscalate, {}}; };
  auto served = agent->serve(pass_on, {.most = 1});
  EXPECT_TRUE(served && *served == 1);
  const std::vector<InboxItem> letters = agent->inbox();
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters.front().reason, "rejected");
  board.sent.raise();
  ASSERT_TRUE(board.go.await(2, patience()));
  EXPECT_TRUE(agent->requeue_dead(letters.front().id));
  served = agent->serve(pass_on, {.most = 1});
  EXPECT_TRUE(served && *served == 1);
  EXPECT_EQ(agent->counters().done, 1U);
  EXPECT_EQ(agent->detach(patience()), 0U);
  expect_balance(*agent);
}

TEST_P(FlowUnreached, C_08_AnEscalationThatCannotReachTheAgentAboveIsADeadLetterAndBypassesNobody) {
  auto& shared = board<UnreachedBoard>();
  auto top = attach("top");
  ASSERT_TRUE(top);
  troupe().start("unreached_middle");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  troupe().start("linkless_bottom");
  ASSERT_TRUE(top->send(peer_of(*top, "bottom"), kQuestion));
  ASSERT_TRUE(shared.attached.await(2, patience()));
  ASSERT_NO_FATAL_FAILURE(await_drained(*top, 1));
  {
    const NoRoomForLinks refusal(hive().coordinator());
    shared.go.raise();
    ASSERT_TRUE(shared.sent.await(1, patience()));
  }
  shared.go.raise();
  troupe().wait_all(patience());
  EXPECT_EQ(take_texts(*top), std::vector<std::string>{"here"}) << "nobody is bypassed";
  expect_balance(*top);
}

}  // namespace
}  // namespace beeline::test
