// Dead letters: put back, purged, kept by a successor, and requested by a tool.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "src/control/letters_client.h"
#include "src/os/event_fd.h"
#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct LettersBoard {
  Event sent;
  Event judged;
  Event done;
};

class FlowLetters : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowLetters);

// The dead letters of an agent, by type.
std::map<std::string, InboxItem> letters_of(Agent& agent) {
  std::map<std::string, InboxItem> letters;
  for (InboxItem& item : agent.inbox()) {
    if (item.dead) letters[item.type] = std::move(item);
  }
  return letters;
}

// Hands out the message of this type until its attempts are exhausted.
void exhaust(Agent& agent, std::string_view type) {
  for (std::uint32_t attempt = 0; attempt < 3; ++attempt) {
    Message message = next_message(agent, {.type = type});
    ASSERT_TRUE(message.valid());
    EXPECT_EQ(message.attempts(), attempt);
    message.requeue();
  }
  EXPECT_FALSE(agent.try_receive({.type = type}));
}

const std::string kLarge(3000, 'x');  // in a slab

BEELINE_ROLE(letter_sender) {
  auto& board = context.board<LettersBoard>();
  auto agent = attach("sender");
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "judge");
  ASSERT_TRUE(agent->send(to, "small", {.type = "rejected"}));
  ASSERT_TRUE(agent->send(to, kLarge, {.type = "exhausted"}));
  ASSERT_TRUE(agent->send(to, "late", {.type = "expired", .ttl_ms = 1}));
  board.sent.raise();
}

// One letter of each kind, and their sender has gone.
void judge_all(Agent& agent) {
  // One message has to expire, and nothing signals that.
  EXPECT_FALSE(agent.receive({.timeout = 30ms, .filter = kNobody}));
  Message rejected = next_message(agent, {.type = "rejected"});
  ASSERT_TRUE(rejected.valid());
  rejected.reject();
  exhaust(agent, "exhausted");
  EXPECT_FALSE(agent.try_receive());
}

TEST_P(FlowLetters, C_07_ADeadLetterThatIsPutBackComesAgainWithAllItsAttempts) {
  auto agent = attach("judge");
  ASSERT_TRUE(agent);
  troupe().start("letter_sender");
  ASSERT_TRUE(board<LettersBoard>().sent.await(1, patience()));
  troupe().wait_all(patience());
  ASSERT_NO_FATAL_FAILURE(judge_all(*agent));
  const auto letters = letters_of(*agent);
  ASSERT_EQ(letters.size(), 3U);
  for (const auto& [type, letter] : letters) {
    EXPECT_EQ(letter.reason, type) << "C-20: expired, HK-053: rejected";
    EXPECT_EQ(letter.attempts, type == "exhausted" ? 3U : 0U);
    ASSERT_TRUE(agent->requeue_dead(letter.id)) << type;
    const auto again = agent->requeue_dead(letter.id);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, ErrorCode::kInvalid);
    EXPECT_NE(again.error().text.find("dlq ls"), std::string::npos) << again.error().text;
  }
  EXPECT_EQ(agent->counters().dead, 0U);
  EXPECT_EQ(agent->counters().queued, 3U);
  EXPECT_EQ(agent->inbox().size(), 3U) << "the expired one is listed again";
  expect_balance(*agent);

  const std::vector<std::pair<std::string, std::string>> order{
      {"rejected", "small"}, {"exhausted", kLarge}, {"expired", "late"}};
  std::vector<Message> held;
  for (const auto& [type, text] : order) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    EXPECT_EQ(message.type(), type) << "at its old place";
    EXPECT_EQ(message.text(), text);
    EXPECT_TRUE(message.redelivered());
    EXPECT_EQ(message.attempts(), 0U);
    EXPECT_EQ(message.id(), letters.at(type).id);
    held.push_back(std::move(message));
  }
  held[0].done();
  held[1].requeue();
  held[2].done();
  Message second = next_message(*agent);
  ASSERT_TRUE(second.valid());
  EXPECT_EQ(second.attempts(), 1U);
  second.requeue();
  Message third = next_message(*agent);
  ASSERT_TRUE(third.valid());
  third.requeue();
  EXPECT_FALSE(agent->try_receive());
  EXPECT_EQ(letters_of(*agent).at("exhausted").attempts, 3U) << "it can be exhausted again";
  expect_balance(*agent);
}

TEST_P(FlowLetters, DeadLettersAreLetGoOneByOneOrAllAtOnce) {
  auto agent = attach("judge");
  ASSERT_TRUE(agent);
  troupe().start("letter_sender");
  ASSERT_TRUE(board<LettersBoard>().sent.await(1, patience()));
  troupe().wait_all(patience());
  ASSERT_NO_FATAL_FAILURE(judge_all(*agent));
  const MessageId large = letters_of(*agent).at("exhausted").id;
  EXPECT_TRUE(agent->purge_dead(large));
  EXPECT_FALSE(agent->purge_dead(large));
  EXPECT_FALSE(agent->requeue_dead(large));
  EXPECT_EQ(letters_of(*agent).size(), 2U);
  EXPECT_EQ(agent->purge_all_dead(), 2U);
  EXPECT_EQ(agent->purge_all_dead(), 0U);
  EXPECT_EQ(agent->counters().purged, 3U);
  EXPECT_EQ(agent->counters().dead, 0U);
  EXPECT_FALSE(agent->try_receive());
  expect_balance(*agent);
}

TEST_P(FlowLetters, ALetterThatIsPutBackShowsAtTheFd) {
  auto agent = attach("judge");
  ASSERT_TRUE(agent);
  troupe().start("letter_sender");
  ASSERT_TRUE(board<LettersBoard>().sent.await(1, patience()));
  troupe().wait_all(patience());
  ASSERT_NO_FATAL_FAILURE(judge_all(*agent));
  const MessageId id = letters_of(*agent).at("rejected").id;
  const int fd = agent->fd();
  while (os::wait_readable(fd, 0ns)) EXPECT_FALSE(agent->try_receive());
  ASSERT_TRUE(agent->requeue_dead(id));
  EXPECT_TRUE(os::wait_readable(fd, kPatience));
  auto message = agent->try_receive();
  ASSERT_TRUE(message);
  EXPECT_EQ(message->text(), "small");
  message->done();
}

// A receiver with a lower limit of hops than its sender.
BEELINE_ROLE(hop_judge) {
  auto& board = context.board<LettersBoard>();
  AttachOptions options = named("judge");
  options.max_hops = 0;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  board.judged.raise();
  Message straight = next_message(*agent);
  ASSERT_TRUE(straight.valid());
  straight.done();
  const auto letters = letters_of(*agent);
  ASSERT_TRUE(letters.contains("hop"));
  EXPECT_EQ(letters.at("hop").reason, "loop");
  ASSERT_TRUE(agent->requeue_dead(letters.at("hop").id));
  Message far = next_message(*agent);
  ASSERT_TRUE(far.valid());
  EXPECT_EQ(far.hops(), 1U);
  EXPECT_TRUE(far.redelivered());
  far.done();
  expect_balance(*agent);
}

TEST_P(FlowLetters, ALetterFromBeyondTheHopLimitIsDeliveredOnceItIsPutBack) {
  auto agent = attach("sender");
  ASSERT_TRUE(agent);
  troupe().start("hop_judge");
  ASSERT_TRUE(board<LettersBoard>().judged.await(1, patience()));
  ASSERT_TRUE(agent->send("sender", "to myself"));
  Message handled = next_message(*agent);
  ASSERT_TRUE(handled.valid());
  ASSERT_TRUE(agent->send("judge", "one hop too far", {.type = "hop"}));
  handled.done();
  ASSERT_TRUE(agent->send("judge", "straight"));
  troupe().wait_all(patience());
}

// Rejects two messages, puts one back and ends; if it is a process, it is killed.
BEELINE_ROLE(mortal_judge) {
  auto& board = context.board<LettersBoard>();
  auto agent = attach("judge");
  ASSERT_TRUE(agent);
  for (int i = 0; i < 2; ++i) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    message.reject();
  }
  ASSERT_TRUE(agent->requeue_dead(letters_of(*agent).at("back").id));
  board.judged.raise();
  ASSERT_TRUE(board.done.await(1, patience()));
}

TEST_P(FlowLetters, ASuccessorKeepsDeadLettersAndThoseThatWerePutBack) {
  auto& shared = board<LettersBoard>();
  auto sender = attach("sender");
  ASSERT_TRUE(sender);
  const std::size_t place = troupe().start("mortal_judge");
  const Peer to = peer_of(*sender, "judge");
  ASSERT_TRUE(sender->send(to, kLarge, {.type = "back", .ttl_ms = 1000}));
  ASSERT_TRUE(sender->send(to, "small", {.type = "dead"}));
  ASSERT_TRUE(shared.judged.await(1, patience()));
  kill_or_release(place, shared.done);
  auto agent = attach("judge");
  ASSERT_TRUE(agent);
  const auto letters = letters_of(*agent);
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters.at("dead").reason, "rejected");
  expect_balance(*agent);
  Message back = next_message(*agent);
  ASSERT_TRUE(back.valid());
  EXPECT_EQ(back.text(), kLarge);
  EXPECT_TRUE(back.redelivered());
  EXPECT_EQ(back.attempts(), 0U);
  back.done();
  ASSERT_TRUE(agent->requeue_dead(letters.at("dead").id));
  Message dead = next_message(*agent);
  ASSERT_TRUE(dead.valid());
  EXPECT_EQ(dead.text(), "small");
  dead.done();
  EXPECT_EQ(agent->counters().done, 2U);
  expect_balance(*agent);
}

// Sends 32 messages, and then 96 answers to no question.
BEELINE_ROLE(babbler) {
  auto& board = context.board<LettersBoard>();
  auto agent = attach("babbler");
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "judge");
  for (int i = 0; i < 32; ++i) ASSERT_TRUE(agent->send_until(to, "to be judged", patience()));
  ASSERT_TRUE(board.judged.await(1, patience()));
  const SendOptions unasked{.type = kTaskResponse, .reply_to = 4711};
  for (int i = 0; i < 96; ++i) ASSERT_TRUE(agent->send_until(to, "an answer", patience(), unasked));
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowLetters, ASmallerInboxKeepsThoseThatMeantSomething) {
  const auto count = [](Agent& agent, const std::string& reason) {
    const std::vector<InboxItem> all = agent.inbox();
    return std::count_if(all.begin(), all.end(),
                         [&](const InboxItem& item) { return item.reason == reason; });
  };
  AttachOptions options = named("judge");
  options.inbox_capacity = 256;  // 64 letters, and 64 answers that lie aside
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  troupe().start("babbler");
  for (int i = 0; i < 32; ++i) next_message(*agent).reject();
  board<LettersBoard>().judged.raise();
  ASSERT_NO_FATAL_FAILURE(await_drained(*agent, 128));
  troupe().wait_all(patience());
  EXPECT_EQ(count(*agent, "rejected"), 32);
  EXPECT_EQ(count(*agent, "unclaimed"), 32);
  for (Message& answer : agent->drain_pending_results()) answer.done();
  agent.reset();
  options.inbox_capacity = 128;  // 32 letters
  agent = attach_again(options);
  ASSERT_TRUE(agent);
  EXPECT_EQ(count(*agent, "rejected"), 32) << "though they are the oldest";
  EXPECT_EQ(count(*agent, "unclaimed"), 0);
  EXPECT_EQ(agent->counters().purged, 32U);
  expect_balance(*agent);
}

// Rejects one message and has no room for all the others. It gets the order to cancel the dead one,
// puts that back and ends; if it is a process, it is killed.
BEELINE_ROLE(narrow_judge) {
  auto& board = context.board<LettersBoard>();
  AttachOptions options = named("judge");
  options.inbox_capacity = 16;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  Message message = next_message(*agent);
  ASSERT_TRUE(message.valid());
  message.reject();
  board.judged.raise();
  for (std::uint32_t i = 1; i <= 2; ++i) {
    ASSERT_TRUE(board.sent.await(i, patience()));
    drain_what_fits(*agent);
    board.judged.raise();
  }
  ASSERT_TRUE(agent->requeue_dead(letters_of(*agent).at("dead").id));
  board.judged.raise();
  ASSERT_TRUE(board.done.await(1, patience()));
}

// If an order finds its message, but not waiting, it stays for a message that is still to come. It
// must not cancel a letter that an agent puts back later.
TEST_P(FlowLetters, C_07_ALetterThatItsSenderTookBackIsDeliveredOnceItIsPutBack) {
  auto& shared = board<LettersBoard>();
  auto sender = attach("sender");
  ASSERT_TRUE(sender);
  const std::size_t place = troupe().start("narrow_judge");
  const Peer to = peer_of(*sender, "judge");
  const SendResult dead = sender->send(to, "small", {.type = "dead"});
  ASSERT_TRUE(dead);
  ASSERT_TRUE(shared.judged.await(1, patience()));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(sender->send(to, "more", {.rank = kLow}));
  shared.sent.raise();
  ASSERT_TRUE(shared.judged.await(2, patience()));
  ASSERT_TRUE(sender->cancel(to, dead.id));
  shared.sent.raise();
  ASSERT_TRUE(shared.judged.await(4, patience()));
  kill_or_release(place, shared.done);
  auto agent = attach("judge");
  ASSERT_TRUE(agent);
  drain_what_fits(*agent);
  ASSERT_TRUE(letters_of(*agent).empty());
  Message back = next_message(*agent, {.type = "dead"});
  ASSERT_TRUE(back.valid());
  EXPECT_TRUE(back.redelivered());
  EXPECT_FALSE(back.cancelled());
  back.done();
  expect_balance(*agent);
}

// Rejects messages that come for the first time, and finishes all others, also the last one.
BEELINE_ROLE(asked_judge) {
  auto& board = context.board<LettersBoard>();
  auto agent = attach("judge");
  ASSERT_TRUE(agent);
  const int fd = context.number == 1 ? agent->fd() : -1;
  for (bool last = false; !last;) {
    std::optional<Message> message;
    while (fd >= 0 && !message) {
      message = agent->try_receive();
      if (!message) {
        ASSERT_TRUE(os::wait_readable(fd, kPatience));
      }
    }
    if (!message) message = next_message(*agent);
    ASSERT_TRUE(message->valid());
    last = message->type() == "stop";
    if (last || message->redelivered()) {
      message->done();
      board.done.raise();
    } else {
      message->reject();
      board.judged.raise();
    }
  }
  EXPECT_EQ(agent->counters().dead, 0U);
  EXPECT_EQ(agent->counters().done, 2U);
  EXPECT_EQ(agent->counters().purged, 2U);
  expect_balance(*agent);
}

control::LettersRequest request_for(Pid to, std::string_view what, MessageId id) {
  return {to, std::string(what), id, 0};
}

// An agent sleeps on its futex if number is 0, and on its fd if it is 1.
void ask_the_judge(ScratchHive& hive, Troupe& troupe, LettersBoard& board, std::uint32_t number) {
  auto sender = attach("sender");
  ASSERT_TRUE(sender);
  troupe.start("asked_judge", number);
  const Peer judge = peer_of(*sender, "judge");
  std::vector<MessageId> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(sender->send(judge, kLarge).id);
  ASSERT_TRUE(board.judged.await(3, patience()));
  control::Client tool = hive.client();
  const auto requeued =
      control::ask_letters(tool, request_for(judge.pid, control::kRequeueLetters, ids[0]));
  ASSERT_TRUE(requeued) << requeued.error().text;
  EXPECT_EQ(*requeued, 1U);
  ASSERT_TRUE(board.done.await(1, patience()));
  for (const std::string_view what : {control::kRequeueLetters, control::kPurgeLetters}) {
    const auto missing = control::ask_letters(tool, request_for(judge.pid, what, ids[0]));
    ASSERT_FALSE(missing) << what;
    EXPECT_EQ(missing.error().code, ErrorCode::kInvalid) << missing.error().text;
  }
  const auto one =
      control::ask_letters(tool, request_for(judge.pid, control::kPurgeLetters, ids[1]));
  ASSERT_TRUE(one) << one.error().text;
  EXPECT_EQ(*one, 1U);
  for (const std::uint64_t left : {1U, 0U}) {
    const auto all = control::ask_letters(tool, request_for(judge.pid, control::kPurgeLetters, 0));
    ASSERT_TRUE(all) << all.error().text;
    EXPECT_EQ(*all, left);
  }
  ASSERT_TRUE(sender->send(judge, "", {.type = "stop"}));
  troupe.wait_all(patience());
}

TEST_P(FlowLetters, AToolAsksAnAgentThatSleeps) {
  ask_the_judge(hive(), troupe(), board<LettersBoard>(), 0);
}

TEST_P(FlowLetters, AToolAsksAnAgentThatSleepsBehindItsFd) {
  ask_the_judge(hive(), troupe(), board<LettersBoard>(), 1);
}

}  // namespace
}  // namespace beeline::test
