// From a send to a handler: types, ids, time to live, listing, and messages that wait until their
// receiver is ready.

#include <set>
#include <string>
#include <vector>

#include "src/control/letters_client.h"
#include "tests/support/hive_test.h"
#include "tools/beeline/accounts.h"

namespace beeline::test {
namespace {

struct DeliveryBoard {
  Event attached;
  Event sent;
  Event go;
};

class FlowDelivery : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowDelivery);

const std::string_view kTypes[] = {kTaskRequest,  kTaskResponse, kCronTask, kCronResult,
                                   kNotification, kEscalation,   "invented"};

// Two lives of this sender send each type to two receivers.
BEELINE_ROLE(typed_sender) {
  auto agent = attach("sender");
  ASSERT_TRUE(agent);
  for (const char* name : {"receiver", "second"}) {
    const Peer to = peer_of(*agent, name);
    for (const std::string_view type : kTypes) {
      const SendResult sent = agent->send(to, type, {.type = type});
      ASSERT_TRUE(sent);
      EXPECT_NE(sent.id, 0U);
    }
  }
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowDelivery, HK_002_HK_003_EveryTypeIsDeliveredUnchangedAndNoTwoHaveOneId) {
  auto receiver = attach("receiver");
  auto second = attach("second");
  ASSERT_TRUE(receiver && second);
  EXPECT_EQ(receiver->counters().drained, 0U);
  EXPECT_TRUE(receiver->inbox().empty()) << "HK-020, HK-024";
  std::set<MessageId> ids;
  for (std::size_t life = 1; life <= 2; ++life) {
    const std::size_t place = troupe().start("typed_sender");
    for (Agent* agent : {&*receiver, &*second}) {
      for (std::size_t i = 0; i < std::size(kTypes); ++i) {
        Message message = next_message(*agent);
        ASSERT_TRUE(message.valid());
        EXPECT_EQ(message.type(), message.text());
        ids.insert(message.id());
        message.done();
      }
    }
    EXPECT_EQ(ids.size(), 2 * life * std::size(kTypes)) << "C-04, after life " << life;
    troupe().wait(place, patience());
  }
}

// ---- Taking -------------------------------------------------------------------------------------

constexpr std::uint32_t kProducers = 4;
constexpr std::uint32_t kOfEach = 500;

BEELINE_ROLE(producer) {
  auto agent = attach("producer-" + std::to_string(context.number));
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "consumer");
  for (std::uint32_t i = 0; i < kOfEach; ++i) {
    const std::string number = std::to_string(context.number * kOfEach + i);
    const SendOptions options{.rank = static_cast<std::int32_t>(i % 4)};
    ASSERT_TRUE(agent->send_until(to, number, patience(), options));
  }
  EXPECT_EQ(agent->detach(patience()), 0U);
}

// One at a time, because only its agent takes from an inbox.
TEST_P(FlowDelivery, HK_021_EachMessageIsTakenOnceAndAnEmptyInboxGivesNothing) {
  auto agent = attach("consumer");
  ASSERT_TRUE(agent);
  EXPECT_FALSE(agent->try_receive()) << "nothing, at once";
  const auto none = agent->receive({.timeout = 1ms});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kTimeout);
  for (std::uint32_t i = 0; i < kProducers; ++i) troupe().start("producer", i);
  std::set<std::string> taken;
  for (std::uint32_t i = 0; i < kProducers * kOfEach; ++i) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid()) << "after " << i;
    EXPECT_TRUE(taken.emplace(message.text()).second) << message.text() << " came twice";
    message.done();
  }
  troupe().wait_all(patience());
  EXPECT_FALSE(agent->try_receive());
  EXPECT_EQ(taken.size(), kProducers * kOfEach);
  EXPECT_EQ(agent->counters().drained, kProducers * kOfEach);
}

// ---- Time to live -------------------------------------------------------------------------------

BEELINE_ROLE(ephemeral) {
  auto& board = context.board<DeliveryBoard>();
  auto agent = attach("sender");
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "receiver");
  ASSERT_TRUE(agent->send(to, "soon over", {.ttl_ms = 1}));
  ASSERT_TRUE(agent->send(to, "for long", {.ttl_ms = 1'000'000}));
  ASSERT_TRUE(agent->send(to, "for ever"));
  board.sent.raise();
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowDelivery, HK_022_HK_023_AnExpiredMessageIsNeitherListedNorDelivered) {
  auto& shared = board<DeliveryBoard>();
  auto agent = attach("receiver");
  ASSERT_TRUE(agent);
  troupe().start("ephemeral");
  ASSERT_TRUE(shared.sent.await(1, patience()));
  let_pass(20ms);
  await_drained(*agent, 3);
  const auto listed = agent->inbox();
  ASSERT_EQ(listed.size(), 3U);
  EXPECT_TRUE(listed[2].dead) << "C-20: not as one that waits";
  EXPECT_EQ(listed[0].preview, "for long");
  EXPECT_EQ(take_texts(*agent), (std::vector<std::string>{"for long", "for ever"}));
  const auto dead = agent->inbox();
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].reason, "expired");
  EXPECT_EQ(agent->counters().queued, 0U);
  troupe().wait_all(patience());
}

// ---- Listing, and inboxes that are gone ---------------------------------------------------------

// Leaves its messages, and dies for good.
BEELINE_ROLE(forgetful) {
  auto& board = context.board<DeliveryBoard>();
  AttachOptions options = named("forgetful");
  options.temporary = true;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  board.attached.raise();
  await_drained(*agent, 3);
  const auto items = agent->inbox();
  EXPECT_EQ(items.size(), 3U) << "HK-024";
  EXPECT_EQ(agent->inbox().size(), 3U) << "nothing is taken";
  EXPECT_EQ(agent->counters().queued, 3U);
  Message first = next_message(*agent);
  first.done();
}

TEST_P(FlowDelivery, HK_025_TheInboxOfTheDeadIsGoneAndItsMessagesAreDeadLetters) {
  auto& shared = board<DeliveryBoard>();
  auto agent = attach("sender");
  ASSERT_TRUE(agent);
  troupe().start("forgetful");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  const Peer to = peer_of(*agent, "forgetful");
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(agent->send(to, std::to_string(i)));
  troupe().wait_all(patience());
  ASSERT_NO_FATAL_FAILURE(drain_until(*agent, [&] { return hive().status().dead_letters >= 2; }));
  EXPECT_EQ(agent->send(to, "x").status, SendStatus::kPeerDead);
  auto client = hive().client();
  ASSERT_NO_FATAL_FAILURE(drain_until(*agent, [&] {
    const auto accounts = cli::read_accounts(client, hive().name());
    return accounts && accounts->find(to.pid) == nullptr;
  })) << "its inbox is gone, and listed nowhere";
  const auto letters = control::list_kept_letters(client);
  ASSERT_TRUE(letters) << letters.error().text;
  ASSERT_EQ(letters->size(), 2U) << "C-16: what it had not finished";
  for (std::size_t i = 0; i < 2; ++i) {
    const control::KeptLetter& letter = letters->at(i);
    EXPECT_EQ(letter.to, to.pid);
    EXPECT_EQ(letter.from, agent->pid());
    EXPECT_EQ(letter.preview, std::to_string(i + 1));
    EXPECT_EQ(letter.reason, "receiver_dead");
  }
}

// ---- Handlers -----------------------------------------------------------------------------------

BEELINE_ROLE(early_sender) {
  auto& board = context.board<DeliveryBoard>();
  auto agent = attach("sender");
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "receiver");
  std::vector<MessageId> asked;
  for (int i = 0; i < 3; ++i) {
    const SendOptions options{.rank = i, .type = "early", .reply_to = 9, .requires_ack = true};
    const SendResult sent = agent->send(to, std::to_string(i), options);
    ASSERT_TRUE(sent);
    asked.push_back(sent.id);
  }
  ASSERT_TRUE(agent->send(to, "other", {.type = "other"}));
  board.sent.raise();
  ASSERT_TRUE(board.go.await(1, patience()));
  for (const MessageId id : asked) {
    const auto ack = agent->await_ack(to, id, patience());
    ASSERT_TRUE(ack) << ack.error().text;
    EXPECT_EQ(ack->status, AckStatus::kAccepted) << "HK-061";
    EXPECT_EQ(ack->reply, "handled");
  }
  ASSERT_TRUE(agent->send(to, "wake up", {.type = "late"}));
  Message question = next_message(*agent);
  ASSERT_TRUE(question.valid());
  EXPECT_TRUE(agent->reply(question, "answer"));
  question.done();
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowDelivery, HK_055_MessagesSentBeforeTheHandlerIsReadyAreHandledInOrderAndLeave) {
  auto& shared = board<DeliveryBoard>();
  auto agent = attach("receiver");
  ASSERT_TRUE(agent);
  troupe().start("early_sender");
  ASSERT_TRUE(shared.sent.await(1, patience()));
  std::vector<std::string> handled;
  const auto handle = [&](Message& message) {
    handled.emplace_back(message.text());
    EXPECT_EQ(message.reply_to(), 9U) << "HK-052";
    EXPECT_EQ(message.relation(), Relation::kSibling) << "C-38";
    EXPECT_EQ(message.rank(), static_cast<std::int32_t>(handled.size()) - 1);
    EXPECT_GT(message.sent_ns(), 0);
    EXPECT_FALSE(message.redelivered());
    return Ack{AckStatus::kAccepted, "handled"};
  };
  // HK-026: the filter leaves the other messages in place.
  const ServeOptions early{.most = 3, .filter = {.type = "early"}};
  EXPECT_EQ(*agent->serve(handle, early), 3U);
  EXPECT_EQ(handled, (std::vector<std::string>{"0", "1", "2"})) << "HK-050";
  EXPECT_EQ(*agent->serve(handle, {.until = after(1ms), .filter = {.type = "early"}}), 0U)
      << "HK-055, HK-051";
  EXPECT_EQ(agent->inbox().size(), 1U);

  // HK-066: a handler may send a request while it handles a message.
  shared.go.raise();
  const auto ask = [&](Message& message) {
    auto answer = agent->request(peer_of(*agent, "sender"), "question", patience());
    EXPECT_TRUE(answer && answer->text() == "answer");
    if (answer) answer->done();
    EXPECT_EQ(message.text(), "wake up");
    return Ack{};
  };
  EXPECT_EQ(*agent->serve(ask, {.most = 1, .filter = {.type = "late"}}), 1U);
  EXPECT_EQ(take_texts(*agent), (std::vector<std::string>{"other"}));
  troupe().wait_all(patience());

  // HK-066: an agent that has left learns that it cannot send.
  const Peer sender = peer_of(*agent, "sender");
  EXPECT_EQ(agent->detach(), 0U);
  const auto left = agent->request(sender, "question", patience());
  ASSERT_FALSE(left);
  EXPECT_EQ(left.error().code, ErrorCode::kNoRoute);
  EXPECT_NE(left.error().text.find("nothing was sent"), std::string::npos) << left.error().text;
}

constexpr std::uint32_t kLives = 5;
constexpr std::uint32_t kInLife = 60;  // all lives together take more than a lane holds

// Sends all the time, whether its receiver is there, away, or just attaching.
BEELINE_ROLE(steady_sender) {
  auto agent = attach("sender");
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "receiver");
  for (std::uint32_t i = 1; i <= kLives * kInLife; ++i) {
    ASSERT_TRUE(agent->send_until(to, std::to_string(i), patience())) << i;
  }
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowDelivery, HK_056_C_07_AMessageSentWhileItsReceiverStartsReachesTheHandlerOnce) {
  troupe().start("steady_sender");
  std::uint32_t last = 0;
  for (std::uint32_t life = 1; life <= kLives; ++life) {
    auto agent = attach("receiver");
    ASSERT_TRUE(agent);
    const auto handle = [&](Message& message) {
      EXPECT_EQ(message.text(), std::to_string(++last)) << "life " << life;
      EXPECT_FALSE(message.redelivered());
      return Ack{};
    };
    const auto served = agent->serve(handle, {.until = patience(), .most = kInLife});
    ASSERT_TRUE(served) << served.error().text;
    ASSERT_EQ(*served, kInLife);
    (void)agent->detach();
  }
  troupe().wait_all(patience());
}

}  // namespace
}  // namespace beeline::test
