// Requests and their answers: which answer belongs to which request, and the end of all others.

#include <signal.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "src/os/event_fd.h"
#include "src/os/pid_fd.h"
#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct RequestBoard {
  Event attached;
  Event taken;
  Event done;
};

class FlowRequest : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowRequest);

// Answers as the type of each message says, from a hive of its own under the coordinator.
BEELINE_ROLE(answerer) {
  auto& board = context.board<RequestBoard>();
  auto agent = attach("answerer");
  ASSERT_TRUE(agent);
  board.attached.raise();
  std::vector<Message> kept;
  const auto handle = [&](Message& message) -> Ack {
    const std::string type(message.type());
    board.taken.raise();
    if (type == "by request id") {  // by hand, as a queen does (C-09)
      EXPECT_TRUE(agent->send(peer_of(*agent, "asker"), message.text(),
                              {.type = kTaskResponse, .reply_to = message.reply_to()}));
    } else if (type == "keep both") {
      const Peer asker = peer_of(*agent, "asker");
      for (int i = 0; i < 2; ++i) {
        EXPECT_TRUE(agent->send(asker, "by hand", {.reply_to = message.reply_to()}));
      }
    } else if (type == "twice") {
      EXPECT_TRUE(agent->reply(message, "first"));
      EXPECT_TRUE(agent->reply(message, "second"));
    } else if (type == "each path") {
      const Peer asker = peer_of(*agent, "asker");
      EXPECT_TRUE(agent->send(asker, "a result", {.type = kTaskResponse, .reply_to = 12345}));
      EXPECT_TRUE(agent->send(asker, "a note", {.type = "note", .reply_to = 12345}));
      EXPECT_TRUE(agent->send(asker, "plain"));
      EXPECT_TRUE(agent->reply(message, "awaited"));
    } else if (type == "speak") {
      EXPECT_TRUE(agent->send(peer_of(*agent, "asker"), message.text()));
    } else if (type == "keep") {
      kept.push_back(std::move(message));
      return {AckStatus::kQueued, {}};
    } else if (type == "answer the kept ones backwards") {
      for (auto it = kept.rbegin(); it != kept.rend(); ++it) {
        EXPECT_TRUE(agent->reply(*it, it->text()));
        it->done();
      }
      kept.clear();
    } else if (type == "stop") {
      agent->stop_serving();
    } else {
      EXPECT_TRUE(agent->reply(message, message.text(), {.type = kTaskResponse}));
    }
    return {};
  };
  EXPECT_TRUE(agent->serve(handle));
  EXPECT_EQ(agent->detach(patience()), 0U);
  expect_balance(*agent);
}

class Asker {
 public:
  Asker(RequestBoard& board, Troupe& troupe) : troupe_(troupe), agent_(attach("asker")) {
    troupe.start("answerer");
    EXPECT_TRUE(board.attached.await(1, patience()));
    peer_ = peer_of(*agent_, "answerer");
  }
  [[nodiscard]] Agent& operator*() { return *agent_; }
  [[nodiscard]] Agent* operator->() { return &*agent_; }
  [[nodiscard]] Peer peer() const { return peer_; }
  void tell(const std::string& type) { EXPECT_TRUE(agent_->send(peer_, "", {.type = type})); }
  // When it returns, all earlier messages were answered.
  void settle() {
    auto answer = agent_->request(peer_, "settled", patience());
    ASSERT_TRUE(answer) << answer.error().text;
    answer->done();
  }
  void stop() {
    tell("stop");
    troupe_.wait_all(patience());
    expect_balance(*agent_);
  }

 private:
  Troupe& troupe_;
  std::optional<Agent> agent_;
  Peer peer_;
};

TEST_P(FlowRequest, C_09_AnAnswerToEitherIdMeetsEitherKindOfQuestion) {
  Asker asker(board<RequestBoard>(), troupe());
  // HK-062, HK-069: {request id, message id} x {request, fire and forget}.
  MessageId own_id = 0xabcde0;
  for (const char* type : {"by request id", "by message id"}) {
    auto answer =
        asker->request(asker.peer(), type, patience(), {.type = type, .reply_to = ++own_id});
    ASSERT_TRUE(answer) << answer.error().text;
    EXPECT_EQ(answer->text(), type);
    answer->done();
    const auto sent = asker->fire_and_forget(asker.peer(), std::string("forgotten ") + type,
                                             {.type = type, .reply_to = ++own_id});
    ASSERT_TRUE(sent) << "HK-067";
    EXPECT_NE(sent.id, 0U);
  }
  asker.settle();
  EXPECT_FALSE(asker->try_receive());
  auto results = asker->drain_pending_results();
  ASSERT_EQ(results.size(), 2U) << "HK-068";
  EXPECT_EQ(results[0].text(), "forgotten by request id");
  EXPECT_EQ(results[1].text(), "forgotten by message id");
  for (Message& result : results) result.done();
  EXPECT_TRUE(asker->drain_pending_results().empty());
  EXPECT_EQ(asker->counters().late_replies, 0U);
  asker.stop();
}

TEST_P(FlowRequest, HK_063_HK_064_LateAndDuplicateAnswersAreKeptAsideAndCounted) {
  Asker asker(board<RequestBoard>(), troupe());
  auto none = asker->request(asker.peer(), "late", after(1ms), {.type = "keep"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kTimeout);
  EXPECT_NE(none.error().text.find("to agent " + std::to_string(asker.peer().pid)),
            std::string::npos)
      << none.error().text;
  asker.tell("answer the kept ones backwards");
  auto first = asker->request(asker.peer(), "", patience(), {.type = "twice"});
  ASSERT_TRUE(first) << first.error().text;
  EXPECT_EQ(first->text(), "first");
  first->done();
  asker.settle();
  EXPECT_FALSE(asker->try_receive());
  EXPECT_EQ(asker->counters().late_replies, 2U);
  auto items = asker->inbox();
  ASSERT_EQ(items.size(), 2U);
  EXPECT_TRUE(items[0].stashed && items[1].stashed);
  auto results = asker->drain_pending_results();
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].text(), "late");
  EXPECT_EQ(results[1].text(), "second");
  results.clear();  // unfinished, so they come again
  results = asker->drain_pending_results();
  ASSERT_EQ(results.size(), 2U);
  EXPECT_TRUE(results[0].redelivered());
  for (Message& result : results) result.done();
  asker.stop();
}

TEST_P(FlowRequest, HK_060_EachMessageTakesItsPath) {
  Asker asker(board<RequestBoard>(), troupe());
  // The other agent sends four: an awaited answer, an answer that nobody waits for, an answer to no
  // question, and a plain message.
  std::vector<std::string> handled;
  const auto collect = [&](Message& message) {
    handled.emplace_back(message.text());
    return Ack{};
  };
  std::vector<std::string> answers;
  const auto then = [&](Result<Message> answer) {
    ASSERT_TRUE(answer) << answer.error().text;
    answers.emplace_back(answer->text());
    answer->done();
    asker->stop_serving();
  };
  ASSERT_TRUE(asker->request_then(asker.peer(), "", patience(), then, {.type = "each path"}));
  for (int i = 0; i < 3; ++i) {  // two messages and an answer, in any order
    ASSERT_TRUE(asker->serve(collect, {.until = patience(), .most = 1}));
  }
  EXPECT_EQ(answers, std::vector<std::string>{"awaited"});
  EXPECT_EQ(handled, (std::vector<std::string>{"a note", "plain"}));
  auto results = asker->drain_pending_results();
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].text(), "a result");
  results[0].done();
  asker.stop();
}

TEST_P(FlowRequest, HK_062_HK_065_WaitingForAnAnswerKeepsNobodyElse) {
  Asker asker(board<RequestBoard>(), troupe());
  std::vector<std::string> events;
  const auto note = [&](const Result<Message>& answer) {
    events.push_back(answer ? std::string(answer->text())
                            : std::string(to_string(answer.error().code)));
    if (events.size() == 4) asker->stop_serving();
  };
  for (const char* text : {"A", "B"}) {  // answered in reverse order
    ASSERT_TRUE(asker->request_then(asker.peer(), text, patience(),
                                    [&, text](Result<Message> answer) {
                                      note(answer);
                                      ASSERT_TRUE(answer) << answer.error().text;
                                      EXPECT_EQ(answer->text(), text) << "each gets its own";
                                      answer->done();
                                    },
                                    {.type = "keep"}));
  }
  const auto give_up = [&](const Result<Message>& answer) {
    note(answer);
    EXPECT_TRUE(asker->send(asker.peer(), "a second message", {.type = "speak"}));
  };
  ASSERT_TRUE(asker->request_then(asker.peer(), "too late", after(1ms), give_up, {.type = "keep"}));
  const auto handle = [&](Message& message) {
    events.emplace_back(message.text());
    asker.tell("answer the kept ones backwards");
    return Ack{};
  };
  const auto served = asker->serve(handle, {.until = patience()});
  ASSERT_TRUE(served) << served.error().text;
  EXPECT_EQ(*served, 1U);
  ASSERT_EQ(events.size(), 4U);
  const auto place = [&](const char* what) {
    return std::find(events.begin(), events.end(), what) - events.begin();
  };
  EXPECT_EQ(place("timeout"), 0) << "HK-063";
  EXPECT_EQ(place("a second message"), 1);
  EXPECT_GE(place("B"), 2);
  asker.settle();
  for (Message& result : asker->drain_pending_results()) result.done();
  asker.stop();
}

TEST_P(FlowRequest, ARequestToNobodyFailsAtOnceAndOneForEverIsRefused) {
  auto agent = attach("asker");
  ASSERT_TRUE(agent);
  const auto absent = agent->request("nobody", "there?");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::kNoAgent);
  const auto endless = agent->request(peer_of(*agent, "asker"), "", Deadline::max());
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(agent->counters().drained, 0U) << "nothing was sent";
}

TEST_P(FlowRequest, C_09_ASecondAnswerByTheRequestsOwnIdIsKeptAsideToo) {
  Asker asker(board<RequestBoard>(), troupe());
  constexpr MessageId kOwnId = 0xabcdef;
  auto answer =
      asker->request(asker.peer(), "?", patience(), {.type = "keep both", .reply_to = kOwnId});
  ASSERT_TRUE(answer) << answer.error().text;
  answer->done();
  asker.settle();
  EXPECT_FALSE(asker->try_receive());
  auto results = asker->drain_pending_results();
  ASSERT_EQ(results.size(), 1U);
  results[0].done();
  EXPECT_EQ(asker->counters().late_replies, 1U);
  asker.stop();
}

TEST_P(FlowRequest, QuestionsAreKnownHoweverManyMessagesLieBetweenThem) {
  Asker asker(board<RequestBoard>(), troupe());
  ASSERT_TRUE(asker->fire_and_forget(asker.peer(), "first"));
  for (int i = 0; i < 1023; ++i) {
    ASSERT_TRUE(asker->send("asker", "between"));
    Message between = next_message(*asker, {.from = asker->pid()});
    ASSERT_TRUE(between.valid());
    between.done();
  }
  ASSERT_TRUE(asker->fire_and_forget(asker.peer(), "second"));
  asker.settle();
  EXPECT_FALSE(asker->try_receive());
  auto results = asker->drain_pending_results();
  EXPECT_EQ(results.size(), 2U);
  for (Message& result : results) result.done();
  asker.stop();
}

TEST_P(FlowRequest, AnAnswerDoesNotWaitForAFullInbox) {
  auto& shared = board<RequestBoard>();
  AttachOptions options = named("asker");
  options.inbox_capacity = 16;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  troupe().start("answerer");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  ASSERT_NO_FATAL_FAILURE(drain_until(*agent, [&] {
    (void)agent->send("asker", "in the way");
    return agent->counters().queued >= 14;
  }));
  const Peer answerer = peer_of(*agent, "answerer");
  auto answer = agent->request(answerer, "quick", patience());
  ASSERT_TRUE(answer) << answer.error().text;
  EXPECT_EQ(answer->text(), "quick");
  answer->done();
  while (auto message = agent->try_receive()) message->done();
  ASSERT_TRUE(agent->send(answerer, "", {.type = "stop"}));
  troupe().wait_all(patience());
  expect_balance(*agent);
}

TEST_P(FlowRequest, AThrowingCallbackEndsNothingAndEachIsCalledOnce) {
  Asker asker(board<RequestBoard>(), troupe());
  int called = 0;
  const auto then = [&](Result<Message> answer) {
    ++called;
    EXPECT_TRUE(answer);
    asker->stop_serving();
    throw std::runtime_error("as it was told");
  };
  ASSERT_TRUE(asker->request_then(asker.peer(), "?", patience(), then));
  EXPECT_TRUE(asker->serve([](Message&) { return Ack{}; }, {.until = patience()}));
  EXPECT_EQ(called, 1);
  EXPECT_TRUE(asker->drain_pending_results().empty()) << "nobody retries an answer";
  // A loop that always has work ends at its deadline, too.
  ASSERT_TRUE(asker->send("asker", "again and again"));
  const auto again = [&](Message& message) {
    EXPECT_TRUE(asker->send("asker", message.text(), {.inherit = false}));
    return Ack{};
  };
  EXPECT_TRUE(asker->serve(again, {.until = after(5ms)}));
  while (auto message = asker->try_receive()) message->done();
  asker.stop();
}

// Dies for good while it holds the question, twice.
BEELINE_ROLE(mute) {
  for (int life = 0; life < 2; ++life) {
    AttachOptions options = named("mute");
    options.temporary = true;
    auto agent = attach(options);
    ASSERT_TRUE(agent);
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
  }
}

// The time that a failed request had left, as its error says.
std::chrono::milliseconds left_in(const std::string& text) {
  const std::size_t end = text.find(" ms before the deadline");
  if (end == std::string::npos) {
    ADD_FAILURE() << text;
    return 0ms;
  }
  return std::chrono::milliseconds(std::stol(text.substr(text.rfind(' ', end - 1) + 1)));
}

TEST_P(FlowRequest, ARequestThatIsToldNoDeadlineHas60Seconds) {
  static_assert(kRequestPatience == 60s);
  auto agent = attach("asker");
  ASSERT_TRUE(agent);
  troupe().start("mute");
  for (const bool by_name : {false, true}) {
    const Peer mute = peer_of(*agent, "mute");
    const auto before = std::chrono::steady_clock::now();
    const auto answer = by_name ? agent->request("mute", "?") : agent->request(mute, "?");
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::kPeerDeadTaken) << answer.error().text;
    const auto left = left_in(answer.error().text);
    EXPECT_LE(left, 60s);
    const auto took = std::chrono::steady_clock::now() - before;
    EXPECT_GE(left + took, 59989ms) << "a tick of 10 ms at most, and whole milliseconds";
  }
  troupe().wait_all(patience());
}

// ---- The receiver dies --------------------------------------------------------------------------

class FlowRequestDeath : public HiveTest {
 protected:
  // Asks an agent that has taken this many messages when it dies; `kill` kills it.
  void ask_a_mortal(std::uint32_t taken, const std::function<void(std::size_t)>& kill,
                    const std::string& asker = "asker_of_mortal");
};
INSTANTIATE_TEST_SUITE_P(As, FlowRequestDeath, testing::Values(World::kProcesses), world_name);

// Takes the first `number` messages out of its lanes, answers all but the last one, and then hangs.
BEELINE_ROLE(mortal) {
  auto& board = context.board<RequestBoard>();
  AttachOptions options = named("mortal");
  options.temporary = true;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  board.attached.raise();
  for (std::uint32_t taken = 1; taken <= context.number; ++taken) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    if (taken < context.number) {
      EXPECT_TRUE(agent->reply(message, "still alive"));
      message.done();
      continue;
    }
    board.taken.raise();
    EXPECT_TRUE(board.done.await(1, patience()));
  }
  EXPECT_TRUE(board.done.await(1, patience()));
}

// Asks "mortal" with `ask`, for an answer or for an acknowledgement, and reports how that ended.
template <typename Ask>
void outlive_a_mortal(const RoleContext& context, Ask&& ask) {
  auto& board = context.board<RequestBoard>();
  auto agent = attach("asker");
  ASSERT_TRUE(agent);
  const Peer mortal = peer_of(*agent, "mortal");
  if (context.number == 0) {
    ASSERT_TRUE(agent->fire_and_forget(mortal, "", {}));
    board.taken.raise();  // nothing will be taken
  }
  for (std::uint32_t taken = 1; taken < context.number; ++taken) {
    auto answer = agent->request(mortal, "vivas", patience());
    ASSERT_TRUE(answer) << answer.error().text;
    answer->done();
  }
  const auto answer = ask(*agent, mortal);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code,
            context.number == 0 ? ErrorCode::kPeerDead : ErrorCode::kPeerDeadTaken)
      << answer.error().text;
  const auto late = agent->await_ack(mortal, 4711, patience());
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kPeerDeadTaken) << "what it was is not known any more";
}

BEELINE_ROLE(asker_of_mortal) {
  outlive_a_mortal(context, [](Agent& agent, Peer mortal) {
    return agent.request(mortal, "memento", patience());
  });
}

BEELINE_ROLE(acked_asker_of_mortal) {
  outlive_a_mortal(context, [](Agent& agent, Peer mortal) {
    return agent.send_acked(mortal, "memento", patience());
  });
}

// Waits for the acknowledgement of its earlier message.
BEELINE_ROLE(awaiting_asker_of_mortal) {
  outlive_a_mortal(context, [](Agent& agent, Peer mortal) {
    const SendResult sent = agent.send(mortal, "memento", {.requires_ack = true});
    EXPECT_TRUE(sent);
    return agent.await_ack(mortal, sent.id, patience());
  });
}

void FlowRequestDeath::ask_a_mortal(std::uint32_t taken,
                                    const std::function<void(std::size_t)>& kill,
                                    const std::string& asker_role) {
  auto& shared = board<RequestBoard>();
  const std::uint32_t before = shared.taken.count();
  const std::uint32_t attached = shared.attached.count();
  const std::size_t mortal = troupe().start("mortal", taken);
  ASSERT_TRUE(shared.attached.await(attached + 1, patience()));
  const std::size_t asker = troupe().start(asker_role, taken);
  ASSERT_TRUE(shared.taken.await(before + 1, patience()));
  ASSERT_NO_FATAL_FAILURE(kill(mortal));
  troupe().wait(asker, patience());
}

TEST_P(FlowRequestDeath, ARequestSaysWhetherTheDeadHadTakenIt) {
  for (const std::uint32_t taken : {0U, 1U}) {
    ask_a_mortal(taken, [this](std::size_t mortal) { troupe().kill(mortal); });
  }
}

TEST_P(FlowRequestDeath, HK_054_SoDoesAWaitForAnAcknowledgement) {
  const auto kill = [this](std::size_t mortal) { troupe().kill(mortal); };
  for (const std::uint32_t taken : {0U, 1U}) ask_a_mortal(taken, kill, "acked_asker_of_mortal");
  ask_a_mortal(1, kill, "awaiting_asker_of_mortal");
}

// The next coordinator finds the receiver dead, so the receiver never has a place in the directory
// that the sender sees then. The sender has a receipt for the first of two messages.
TEST_P(FlowRequestDeath, ARequestSaysItThoughTheCoordinatorDiedBefore) {
  for (const std::uint32_t taken : {0U, 1U, 2U}) {
    ask_a_mortal(taken, [this](std::size_t mortal) {
      const os::UniqueFd end = std::move(*os::open_pidfd(hive().coordinator()));
      ASSERT_EQ(::kill(hive().keeper(), SIGSTOP), 0);
      ASSERT_EQ(::kill(hive().coordinator(), SIGKILL), 0);
      ASSERT_TRUE(os::wait_readable(end.get(), kPatience));
      troupe().kill(mortal);
      ASSERT_EQ(::kill(hive().keeper(), SIGCONT), 0);
    });
  }
}

}  // namespace
}  // namespace beeline::test
