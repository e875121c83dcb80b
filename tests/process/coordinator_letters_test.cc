// A tool asks about dead letters and an agent answers, both seen from the coordinator.

#include <sys/socket.h>

#include "coordinator_fixture.h"
#include "src/control/letters.h"
#include "src/control/letters_client.h"

namespace beeline::control {
namespace {

class LettersTest : public CoordinatorTest {
 protected:
  // Asks without waiting, and returns once the coordinator has read it.
  static void ask(Client& tool, Pid to, std::uint64_t seq, std::uint64_t id = 1) {
    const LettersRequest request{to, std::string(kRequeueLetters), id, 0};
    const std::string text = build(Request(request), seq);
    ASSERT_EQ(::send(tool.fd(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  }
  // The answer that the tool got, in the order of arrival.
  static std::optional<IncomingAnswer> answer(Client& tool) {
    if (!os::wait_readable(tool.fd(), kLong)) return std::nullopt;
    std::string text(kMaxPacketBytes, '\0');
    const ssize_t length = ::recv(tool.fd(), text.data(), text.size(), 0);
    if (length <= 0) return std::nullopt;
    auto parsed =
        parse_from_coordinator(std::string_view(text).substr(0, static_cast<std::size_t>(length)));
    if (!parsed) return std::nullopt;
    return std::get<IncomingAnswer>(std::move(*parsed));
  }
  static void expect_peer_dead(Client& tool, std::uint64_t seq) {
    const auto told = answer(tool);
    ASSERT_TRUE(told.has_value());
    EXPECT_EQ(told->seq, seq);
    const auto* error = std::get_if<ErrorAnswer>(&told->answer);
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(error->code, ErrorCode::kPeerDead);
    EXPECT_NE(error->text.find("before it answered"), std::string::npos) << error->text;
  }
};

TEST_F(LettersTest, C_07_TheAgentsWordAnswersTheToolThatWaits) {
  start();
  TestAgent lead = agent(named("lead"));
  TestAgent other = agent(named("other"));
  Client tool = connect();
  ask(tool, lead.pid(), 70, 4711);
  auto asked = lead.next<LettersAnnouncement>();
  ASSERT_TRUE(asked.has_value());
  EXPECT_EQ(asked->what, kRequeueLetters);
  EXPECT_EQ(asked->id, 4711U);
  // The ticket belongs to lead: answers of other agents do not count, and lead's counts once.
  ASSERT_TRUE(is_ok(other.client.letters_done({asked->ticket, 9, ""})));
  ASSERT_TRUE(is_ok(other.client.status()));
  ASSERT_TRUE(is_ok(lead.client.letters_done({asked->ticket + 1, 9, ""})));
  ASSERT_TRUE(is_ok(lead.client.letters_done({asked->ticket, 1, ""})));
  ASSERT_TRUE(is_ok(lead.client.letters_done({asked->ticket, 9, ""})));
  const auto done = answer(tool);
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->seq, 70U);
  ASSERT_TRUE(std::holds_alternative<LettersAnswer>(done->answer));
  EXPECT_EQ(std::get<LettersAnswer>(done->answer).count, 1U);

  ask(tool, lead.pid(), 71);
  asked = lead.next<LettersAnnouncement>();
  ASSERT_TRUE(asked.has_value());
  ASSERT_TRUE(is_ok(lead.client.letters_done({asked->ticket, 0, std::string(1000, 'y')})));
  const auto refused = answer(tool);
  ASSERT_TRUE(refused.has_value());
  const auto* error = std::get_if<ErrorAnswer>(&refused->answer);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(error->code, ErrorCode::kInvalid);
  EXPECT_EQ(error->text, std::string(300, 'y')) << "cut";
}

TEST_F(LettersTest, AnImpossibleOrderForLettersIsRefusedWithItsReason) {
  start();
  TestAgent lead = agent(named("lead"));
  TestAgent away = agent(named("away"));
  ASSERT_TRUE(is_ok(away.client.detach({})));
  Client tool = connect();
  const std::string requeue(kRequeueLetters);
  const std::string purge(kPurgeLetters);
  EXPECT_TRUE(
      has_error(ask_letters(tool, {lead.pid(), "burn", 1, 0}), ErrorCode::kInvalid, "burn"));
  EXPECT_TRUE(has_error(ask_letters(tool, {lead.pid(), requeue, 0, 0}), ErrorCode::kInvalid, "id"));
  EXPECT_TRUE(has_error(ask_letters(tool, {0, requeue, 1, 0}), ErrorCode::kInvalid, "--to"));
  EXPECT_TRUE(has_error(ask_letters(tool, {0, purge, 1, 0}), ErrorCode::kInvalid, "dlq ls"));
  EXPECT_TRUE(has_error(ask_letters(tool, {4711, purge, 0, 0}), ErrorCode::kNoAgent, "4711"));
  EXPECT_TRUE(has_error(ask_letters(tool, {away.pid(), purge, 0, 0}), ErrorCode::kPeerDead,
                        "attaches again"));
  EXPECT_TRUE(has_error(read_kept_letter(tool, {1, 2}), ErrorCode::kInvalid, "dlq ls"));
  EXPECT_EQ(ask_letters(tool, {0, purge, 0, 0}).value(), 0U);
  EXPECT_TRUE(list_kept_letters(tool).value().empty());
}

TEST_F(LettersTest, AnAgentThatEndsBeforeItAnswersEndsTheWait) {
  start();
  TestAgent lead = agent(named("lead"));
  Client tool = connect();
  ask(tool, lead.pid(), 70);
  ASSERT_TRUE(lead.next<LettersAnnouncement>().has_value());
  ASSERT_TRUE(is_ok(lead.client.detach({})));
  expect_peer_dead(tool, 70);

  const pid_t child = spawn(
      [&](TestAgent& worker) { return worker.attach(named("worker")) && worker.provide(true); });
  Pid worker = kNoPid;
  const auto agents = tool.list_all();
  ASSERT_TRUE(is_ok(agents));
  for (const ListedAgent& each : *agents) {
    if (each.name == "worker") worker = each.pid;
  }
  ASSERT_NE(worker, kNoPid);
  ask(tool, worker, 71);
  ASSERT_TRUE(is_ok(tool.status())) << "the question was read before this one";
  kill_child(child);
  expect_peer_dead(tool, 71);

  TestAgent lost = agent(named("lost"));
  ask(tool, lost.pid(), 72);
  ASSERT_TRUE(lost.next<LettersAnnouncement>().has_value());
  lost.client.close();
  expect_peer_dead(tool, 72);
}

// For example, a child of its process holds the connection without knowing it.
TEST_F(LettersTest, AnAgentThatResumesEndsTheWaitThoughSomebodyHoldsItsLastConnection) {
  start();
  TestAgent lead = agent(named("lead"));
  Client tool = connect();
  ask(tool, lead.pid(), 73);
  ASSERT_TRUE(lead.next<LettersAnnouncement>().has_value());
  const os::UniqueFd held(::dup(lead.client.fd()));
  ASSERT_TRUE(is_ok(lead.resume()));
  expect_peer_dead(tool, 73);
}

TEST_F(LettersTest, QuestionsAreBoundedAndAToolThatLeavesTakesItsOwnAway) {
  start();
  TestAgent lead = agent(named("lead"));
  Client tool = connect();
  for (std::uint64_t i = 0; i < kMaxLetterTickets; ++i) {
    ask(tool, lead.pid(), 100 + i);
    ASSERT_TRUE(lead.next<LettersAnnouncement>().has_value());
  }
  Client next = connect();
  EXPECT_TRUE(has_error(ask_letters(next, {lead.pid(), std::string(kPurgeLetters), 0, 0}),
                        ErrorCode::kFull, "limit is 8"));
  tool.close();
  EXPECT_TRUE(eventually([&] {
    ask(next, lead.pid(), 200);
    return lead.next<LettersAnnouncement>(10ms).has_value();
  }));
}

}  // namespace
}  // namespace beeline::control
