// Pid 1 and its steward, as coordinator and keeper see them. The test stops the real steward and
// plays its part with the secret that the keeper gave to it.

#include <dirent.h>

#include <beeline/agent.h>
#include <beeline/king.h>

#include "coordinator_fixture.h"
#include "src/control/agent_info.h"
#include "tests/support/process_tree.h"

namespace beeline::control {
namespace {

// The words of a file of /proc that ends each with a zero byte.
std::string variable_of(pid_t process, const std::string& name) {
  std::ifstream file("/proc/" + std::to_string(process) + "/environ");
  for (std::string word; std::getline(file, word, '\0');) {
    if (word.starts_with(name + '=')) return word.substr(name.size() + 1);
  }
  return {};
}

class KingTest : public CoordinatorTest {
 protected:
  void TearDown() override {
    ::unsetenv("BEELINE_TICKET");
    if (steward_ > 0) ::kill(steward_, SIGCONT);
    CoordinatorTest::TearDown();
  }

  static AttachOptions called(std::string name) {
    AttachOptions options;
    options.name = std::move(name);
    options.role = "agent";
    return options;
  }

  // The process of the steward, 0 if there is none.
  static pid_t find_steward() {
    for (const pid_t child : test::children_of(connect().status()->keeper_pid)) {
      if (!variable_of(child, "BEELINE_KING").empty()) return child;
    }
    return 0;
  }

  // Calls the steward, waits until it serves and stops it.
  King take_its_place() {
    start();
    caller_.emplace(*Agent::attach(called("caller")));
    const auto answer =
        caller_->request(To(kKingPid), Payload("{}"), after(kLong), {.type = "hive.list"});
    EXPECT_TRUE(is_ok(answer));
    steward_ = find_steward();
    EXPECT_GT(steward_, 0);
    secret_ = variable_of(steward_, "BEELINE_KING");
    ::kill(steward_, SIGSTOP);
    auto king = King::open("", secret_);
    EXPECT_TRUE(is_ok(king));
    return std::move(*king);
  }

  static LifeEvent next(King& king) {
    LifeEvent event;
    EXPECT_TRUE(eventually([&] {
      auto got = king.next();
      if (got) event = std::move(*got);
      return got.has_value();
    }));
    return event;
  }

  std::optional<Agent> caller_;
  pid_t steward_ = 0;
  std::string secret_;
};

TEST_F(KingTest, AHiveInWhichNobodyCallsPid1HasNoSteward) {
  start();
  TestAgent lead = agent(named("lead"));
  EXPECT_EQ(find_steward(), 0);
  const auto all = connect().list_all();
  ASSERT_TRUE(is_ok(all));
  EXPECT_EQ(all->front().pid, kKingPid);
  EXPECT_EQ(all->front().state, shm::AgentState::kRunning);
  EXPECT_EQ(all->front().os_pid, connect().status()->coordinator_pid);
}

TEST_F(KingTest, WithoutTheSecretNobodyIsPid1) {
  King king = take_its_place();
  EXPECT_TRUE(has_error(King::open("", "guess"), ErrorCode::kDenied, "steward"));
  ::setenv("BEELINE_KING", "guess", 1);
  EXPECT_TRUE(has_error(Agent::attach(called("king")), ErrorCode::kDenied));
  ::unsetenv("BEELINE_KING");
  EXPECT_TRUE(has_error(Agent::attach(called("king")), ErrorCode::kAlreadyRunning));
  EXPECT_TRUE(has_error(connect().forget("1"), ErrorCode::kDenied));
}

TEST_F(KingTest, ATicketMakesAProcessTheReservedAgentOnce) {
  King king = take_its_place();
  const auto ticket =
      king.reserve({.name = "worker", .parent = caller_->pid(), .role = "task", .uid = ::getuid()});
  ASSERT_TRUE(is_ok(ticket));
  // Messages to it wait until its process comes.
  EXPECT_TRUE(caller_->send(To(ticket->pid), "early"));
  EXPECT_TRUE(has_error(Agent::attach(called("worker")), ErrorCode::kDenied, "reserved"));
  EXPECT_TRUE(has_error(king.reserve({.name = "worker"}), ErrorCode::kAlreadyRunning));
  const auto nameless = Agent::attach({.name = "", .role = "agent"});
  ASSERT_TRUE(is_ok(nameless));
  EXPECT_TRUE(is_ok(king.reserve({.name = nameless->name()}))) << "a made-up name is free";
  EXPECT_TRUE(has_error(king.reserve({.name = "boss", .role = "kernel"}), ErrorCode::kDenied));
  EXPECT_TRUE(has_error(king.reserve({.name = "x", .parent = 999}), ErrorCode::kNoAgent));

  ::setenv("BEELINE_TICKET", ticket->ticket.c_str(), 1);
  auto other = Agent::attach(called("other"));
  ASSERT_TRUE(is_ok(other)) << "a ticket of another name is none of its business";
  auto worker = Agent::attach({.name = ""});
  ASSERT_TRUE(is_ok(worker));
  EXPECT_EQ(worker->pid(), ticket->pid);
  EXPECT_EQ(worker->name(), "worker");
  EXPECT_EQ(worker->parent(), caller_->pid());
  EXPECT_EQ(worker->info()->role, "task");
  const auto early = worker->receive({.timeout = kLong});
  ASSERT_TRUE(is_ok(early));
  EXPECT_EQ(early->text(), "early");
  EXPECT_TRUE(has_error(Agent::attach({.name = ""}), ErrorCode::kDenied, "used before"));
}

TEST_F(KingTest, LivesAreToldAndAReservationOutlivesTheCoordinator) {
  King king = take_its_place();
  {
    auto worker = Agent::attach(called("worker"));
    ASSERT_TRUE(is_ok(worker));
    LifeEvent ready = next(king);
    EXPECT_EQ(ready.kind, LifeEvent::Kind::kReady);
    EXPECT_EQ(ready.pid, worker->pid());
    EXPECT_EQ(ready.name, "worker");
    EXPECT_TRUE(worker->escalate("help"));
    LifeEvent escalated = next(king);
    EXPECT_EQ(escalated.kind, LifeEvent::Kind::kEscalated);
    EXPECT_EQ(escalated.text, "help");
  }
  LifeEvent died = next(king);
  EXPECT_EQ(died.kind, LifeEvent::Kind::kDied);
  EXPECT_FALSE(died.is_dead);
  // Its name, number and inbox are reserved for the next process.
  const auto again = king.reserve({.pid = died.pid});
  ASSERT_TRUE(is_ok(again));
  EXPECT_EQ(again->name, "worker");
  const auto fresh = king.reserve({.name = "fresh"});
  ASSERT_TRUE(is_ok(fresh));

  ::kill(connect().status()->coordinator_pid, SIGKILL);
  LifeEvent missed = next(king);
  EXPECT_EQ(missed.kind, LifeEvent::Kind::kMissed);
  for (const Ticket& ticket : {*again, *fresh}) {
    ::setenv("BEELINE_TICKET", ticket.ticket.c_str(), 1);
    auto worker = Agent::attach(called(ticket.name));
    ASSERT_TRUE(is_ok(worker));
    EXPECT_EQ(worker->pid(), ticket.pid);
  }
}

TEST_F(KingTest, AnAgentThatIsReservedAgainHasOneTicketThatCounts) {
  King king = take_its_place();
  const auto first = king.reserve({.name = "worker"});
  ASSERT_TRUE(is_ok(first));
  const auto second = king.reserve({.pid = first->pid});
  ASSERT_TRUE(is_ok(second));
  ::setenv("BEELINE_TICKET", first->ticket.c_str(), 1);
  EXPECT_TRUE(has_error(Agent::attach({.name = ""}), ErrorCode::kDenied));
  EXPECT_TRUE(is_ok(king.forget(first->pid)));
  ::setenv("BEELINE_TICKET", second->ticket.c_str(), 1);
  EXPECT_TRUE(has_error(Agent::attach({.name = ""}), ErrorCode::kDenied, "has ended"));
}

TEST_F(KingTest, AProcessThatEndsWithinItsAttachWasNeverReadyAndItsPidIsReservedAgain) {
  King king = take_its_place();
  const auto find_worker = [this] {
    const auto listed = connect().list_all();
    return is_ok(listed) ? *find_agent(infos_of(*listed), "worker") : AgentInfo{};
  };
  const auto first = king.reserve({.name = "worker"});
  ASSERT_TRUE(is_ok(first));
  {
    TestAgent worker;
    AttachRequest request = named("worker");
    request.ticket = first->ticket;
    ASSERT_TRUE(is_ok(worker.attach(request)));
    EXPECT_EQ(worker.pid(), first->pid);
    EXPECT_NE(find_worker().os_pid, 0);
    EXPECT_FALSE(find_worker().was_ready);
  }
  ASSERT_TRUE(eventually([&] { return find_worker().os_pid == 0; }));
  const auto second = king.reserve({.name = "worker"});
  ASSERT_TRUE(is_ok(second));
  EXPECT_EQ(second->pid, first->pid);
  ::setenv("BEELINE_TICKET", second->ticket.c_str(), 1);
  {
    const auto worker = Agent::attach({.name = ""});
    ASSERT_TRUE(is_ok(worker));
    EXPECT_TRUE(find_worker().was_ready);
  }
  ASSERT_TRUE(eventually([&] { return find_worker().os_pid == 0; }));
  EXPECT_TRUE(find_worker().was_ready);
}

TEST_F(KingTest, TheEndOfTheHiveWaitsForPid1) {
  King king = take_its_place();
  Client tool = connect();
  ASSERT_TRUE(is_ok(tool.request(DownRequest{})));
  EXPECT_EQ(next(king).kind, LifeEvent::Kind::kEnding);
  EXPECT_TRUE(is_ok(tool.status())) << "it waits";
  EXPECT_TRUE(is_ok(king.end()));
  ::kill(std::exchange(steward_, 0), SIGCONT);
  EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(root_ + "/hive/socket"); }));
}

TEST_F(KingTest, AStewardThatIsKilledIsStartedAgainAndGetsWhatWasAsked) {
  start();
  auto caller = Agent::attach(called("caller"));
  ASSERT_TRUE(is_ok(caller));
  for (int i = 0; i < 5; ++i) {
    const auto asked = caller->request_then(To(kKingPid), Payload("{}"), after(kLong),
                                            [](const Result<Message>&) {}, {.type = "hive.list"});
    ASSERT_TRUE(is_ok(asked));
    if (const pid_t steward = find_steward(); steward != 0) ::kill(steward, SIGKILL);
    const auto answer =
        caller->request(To(kKingPid), Payload("{}"), after(kLong), {.type = "hive.list"});
    EXPECT_TRUE(is_ok(answer));
  }
}

}  // namespace
}  // namespace beeline::control
