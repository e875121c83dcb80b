// A reader and the coordinator agree on the links that exist, even if an owner writes after its
// end, leaves while the coordinator dies, or comes and goes while its reader is away.

#include <algorithm>
#include <optional>

#include <beeline/agent.h>

#include "coordinator_fixture.h"

namespace beeline::control {
namespace {

class OwnersTest : public CoordinatorTest {
 protected:
  static beeline::Agent reader_named(const std::string& name) {
    AttachOptions options;
    options.name = name;
    auto made = beeline::Agent::attach(options);
    EXPECT_TRUE(is_ok(made));
    return std::move(*made);
  }
  // Repeats until the condition holds; the agent looks at its control socket meanwhile.
  template <typename Condition>
  static bool looks_until(beeline::Agent& agent, Condition&& condition) {
    return eventually([&] {
      (void)agent.next_notice();
      return condition();
    });
  }
  static bool knows(const beeline::Agent& agent, Pid peer) {
    const auto links = agent.links();
    return std::any_of(links.begin(), links.end(),
                       [peer](const LinkCounters& link) { return link.peer == peer; });
  }
  static pid_t coordinator() { return connect().status()->coordinator_pid; }
  static void restart_coordinator() {
    const pid_t old = coordinator();
    ASSERT_EQ(::kill(old, SIGKILL), 0);
    EXPECT_TRUE(eventually([&] {
      auto fresh = Client::connect();
      if (!fresh) return false;
      const auto now = fresh->status();
      return now && now->coordinator_pid != old;
    }));
  }
};

// Otherwise the next link would get its row, and would count the end of the message as its own.
TEST_F(OwnersTest, ALinkStaysWhileAMessageIsHeldThatCameAfterItsOwnersEnd) {
  start();
  beeline::Agent reader = reader_named("reader");
  TestAgent owner = agent(named("owner"));
  ASSERT_TRUE(is_ok(owner.open(reader.pid())));
  ASSERT_TRUE(looks_until(reader, [&] { return knows(reader, owner.pid()); }));
  ASSERT_TRUE(is_ok(owner.client.detach({})));
  const pid_t stopped = coordinator();
  ASSERT_EQ(::kill(stopped, SIGSTOP), 0);
  (void)reader.next_notice();  // asks the coordinator to let go of the link
  owner.publish(1, 0);
  (void)reader.next_notice();  // looks after ended owners, which should not write any more
  auto held = reader.try_receive();
  ASSERT_EQ(::kill(stopped, SIGCONT), 0);
  ASSERT_TRUE(held.has_value());
  ASSERT_TRUE(is_ok(reader.siblings()));  // the answer about the link comes before this one
  (void)reader.next_notice();
  TestAgent other = agent(named("other"));
  ASSERT_TRUE(is_ok(other.open(reader.pid())));
  ASSERT_TRUE(looks_until(reader, [&] { return knows(reader, other.pid()); }));
  other.publish(1, 0);
  auto later = reader.try_receive();
  ASSERT_TRUE(later.has_value());
  held->done();
  ASSERT_TRUE(is_ok(other.client.detach({})));
  (void)reader.next_notice();
  ASSERT_TRUE(is_ok(reader.siblings()));  // its earlier question was answered
  Client client = connect();
  const auto links = client.links_to(reader.pid());
  ASSERT_TRUE(is_ok(links));
  EXPECT_EQ(links->size(), 1U) << "a link was let go of whose message is held";
  later->done();
  EXPECT_TRUE(looks_until(reader, [&] {
    const auto left = client.links_to(reader.pid());
    return left && left->empty();
  }));
}

// The coordinator had already confirmed that the link may be forgotten.
TEST_F(OwnersTest, AMessageThatCameAfterTheEndOfItsOwnerIsThereForTheNextLife) {
  start();
  std::optional<beeline::Agent> reader = reader_named("reader");
  TestAgent owner = agent(named("owner"));
  ASSERT_TRUE(is_ok(owner.open(reader->pid())));
  ASSERT_TRUE(looks_until(*reader, [&] { return knows(*reader, owner.pid()); }));
  ASSERT_TRUE(is_ok(owner.client.detach({})));
  const pid_t stopped = coordinator();
  ASSERT_EQ(::kill(stopped, SIGSTOP), 0);
  (void)reader->next_notice();  // asks the coordinator to let go of the link
  owner.publish(1, 0);
  (void)reader->next_notice();  // looks after ended owners, which should not write any more
  auto held = reader->try_receive();
  ASSERT_EQ(::kill(stopped, SIGCONT), 0);
  ASSERT_TRUE(held.has_value());
  ASSERT_TRUE(is_ok(reader->siblings()));  // the answer about the link comes before this one
  (void)reader->next_notice();
  ASSERT_NO_FATAL_FAILURE(restart_coordinator());
  reader->detach();
  beeline::Agent next = reader_named("reader");
  const auto again = next.try_receive();
  ASSERT_TRUE(again.has_value()) << "it was held, not finished, and is lost";
  EXPECT_EQ(again->from(), owner.pid());
  EXPECT_TRUE(again->redelivered());
}

// The reader was killed between the two: its row was closed, and nobody was told.
TEST_F(OwnersTest, ALinkThatTheLastLifeHadForgottenIsNotTakenAgain) {
  start();
  std::optional<beeline::Agent> reader = reader_named("reader");
  AttachRequest request = named("once");
  request.temporary = true;
  TestAgent owner = agent(request);
  ASSERT_TRUE(is_ok(owner.open(reader->pid())));
  ASSERT_TRUE(looks_until(*reader, [&] { return knows(*reader, owner.pid()); }));
  owner.publish(1, 0);
  auto taken = reader->try_receive();
  ASSERT_TRUE(taken.has_value());
  taken->done();
  ASSERT_TRUE(is_ok(owner.client.detach({})));
  (void)reader->next_notice();             // asks the coordinator to let go of the link
  ASSERT_TRUE(is_ok(reader->siblings()));  // its answer has come, and was not read
  const pid_t stopped = coordinator();
  ASSERT_EQ(::kill(stopped, SIGSTOP), 0);
  (void)reader->next_notice();  // forgets the link, and tells nobody
  ASSERT_EQ(::kill(stopped, SIGKILL), 0);
  ASSERT_TRUE(eventually([&] {
    auto fresh = Client::connect();
    const auto now = fresh ? fresh->status() : Result<StatusAnswer>(fail(ErrorCode::kClosed, ""));
    return now && now->coordinator_pid != stopped;
  }));
  reader->detach();
  beeline::Agent next = reader_named("reader");
  EXPECT_FALSE(next.try_receive().has_value()) << "it was taken and finished";
  EXPECT_TRUE(looks_until(next, [&] { return connect().status()->links == 0; }))
      << "the link is kept though its reader has forgotten it";
}

TEST_F(OwnersTest, ALinkGoesIfItsOwnerDiedForGoodWhileNobodyLooked) {
  start();
  beeline::Agent reader = reader_named("reader");
  AttachRequest request = named("once");
  request.temporary = true;
  TestAgent owner = agent(request);
  ASSERT_TRUE(is_ok(owner.open(reader.pid())));
  ASSERT_TRUE(looks_until(reader, [&] { return knows(reader, owner.pid()); }));
  ASSERT_TRUE(is_ok(owner.client.detach({1})));
  ASSERT_NO_FATAL_FAILURE(restart_coordinator());
  EXPECT_TRUE(looks_until(reader, [&] { return !knows(reader, owner.pid()); }))
      << "the reader keeps the link of PID " << owner.pid() << ", and its own to it";
}

TEST_F(OwnersTest, OneEmptyLinkOfEachOwnerIsKeptForAnAgentThatIsComingBack) {
  start();
  TestAgent reader = agent(named("reader"));
  reader.client.close();
  for (int life = 0; life < 5; ++life) {
    TestAgent owner = agent(named("owner"));
    ASSERT_TRUE(is_ok(owner.open(reader.pid())));
    ASSERT_TRUE(is_ok(owner.client.detach({1})));
  }
  const auto resumed = reader.resume();
  ASSERT_TRUE(is_ok(resumed));
  EXPECT_EQ(resumed->in_links, 1U);
}

// The announcement had come, and the connection was found broken before it was read.
TEST_F(OwnersTest, AnAnnouncementOfADeadCoordinatorIsNotLost) {
  start();
  TestAgent lead = agent(named("lead"));
  TestAgent worker = agent(named("worker", "lead"));
  ASSERT_TRUE(is_ok(worker.client.detach({})));
  ASSERT_NO_FATAL_FAILURE(restart_coordinator());
  ASSERT_FALSE(lead.client.status());
  const auto told = lead.client.try_next();
  ASSERT_TRUE(told.has_value()) << "the death of the worker was in the socket";
  ASSERT_TRUE(std::holds_alternative<DiedAnnouncement>(*told));
  EXPECT_EQ(std::get<DiedAnnouncement>(*told).name, "worker");
}

TEST_F(OwnersTest, AnAgentThatLooksForANameLearnsThatTheCoordinatorDoesNotAnswer) {
  start();
  AttachOptions options;
  options.name = "seeker";
  options.control_timeout = 1s;  // the agent waits that long for the coordinator, also in the
                                 // attach
  auto seeker = beeline::Agent::attach(options);
  ASSERT_TRUE(is_ok(seeker));
  const pid_t stopped = coordinator();
  ASSERT_EQ(::kill(stopped, SIGSTOP), 0);
  EXPECT_TRUE(has_error(seeker->siblings(), ErrorCode::kTimeout));
  const auto first = seeker->peer("nobody");
  const auto second = seeker->peer("nobody");
  ASSERT_EQ(::kill(stopped, SIGCONT), 0);
  EXPECT_TRUE(has_error(first, ErrorCode::kTimeout));
  EXPECT_TRUE(has_error(second, ErrorCode::kTimeout));
  EXPECT_TRUE(
      eventually([&] { return seeker->peer("nobody").error().code == ErrorCode::kNoAgent; }));
}

}  // namespace
}  // namespace beeline::control
