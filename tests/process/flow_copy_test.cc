// Copies for a parent of messages between its children, and that the children do not depend on
// them.

#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/support/hive_test.h"
#include "tests/support/status_probe.h"

namespace beeline::test {
namespace {

struct CopyBoard {
  Event attached;
  Event go;
  Event sent;
  std::atomic<std::uint64_t> id;  // of the last message
  std::atomic<std::uint64_t> shown;
  std::atomic<pid_t> os_pid;  // of the parent's process
  std::atomic<Pid> pid;       // of the parent
};

class FlowCopy : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowCopy);

constexpr std::size_t kLong = 100'000;
constexpr std::size_t kWhole = 64U << 10;
constexpr std::uint32_t kFlood = 500;

// A child of "queen" that takes all messages until it is told to stop.
BEELINE_ROLE(listener) {
  auto& board = context.board<CopyBoard>();
  auto agent = attach("listener", "queen");
  ASSERT_TRUE(agent);
  board.attached.raise();
  std::uint64_t taken = 0;
  for (bool last = false; !last; ++taken) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    EXPECT_FALSE(message.is_copy());
    EXPECT_EQ(message.to(), agent->pid());
    last = message.type() == "stop";
    if (message.type() == "gossip") {
      EXPECT_TRUE(agent->reply(message, "no!", {.type = "more gossip"}));
    }
    message.done();
  }
  EXPECT_EQ(agent->counters().drained, taken);
  EXPECT_EQ(agent->detach(patience()), 0U);
  expect_balance(*agent);
}

// Another child, that talks to the listener.
std::optional<Agent> talker_of(CopyBoard& board) {
  auto agent = attach("talker", "queen");
  board.attached.raise();
  EXPECT_TRUE(board.go.await(1, patience()));
  return agent;
}

BEELINE_ROLE(talker) {
  auto& board = context.board<CopyBoard>();
  auto agent = talker_of(board);
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "listener");
  TraceContext trace;
  trace.trace_id[0] = 7;
  const SendResult sent = agent->send(to, "psst",
                                      {.rank = kHigh,
                                       .type = "gossip",
                                       .channel = "corridor",
                                       .reply_to = 4711,
                                       .ttl_ms = 100'000,
                                       .trace = trace,
                                       .requires_ack = true});
  ASSERT_TRUE(sent);
  board.id.store(sent.id);
  for (const std::size_t length : {kWhole, kLong}) {
    ASSERT_TRUE(agent->send_until(to, std::string(length, 'x'), patience()));
  }
  auto loan = agent->loan(to, kLong);
  ASSERT_TRUE(loan);
  std::memset(loan->bytes().data(), 'y', kLong);
  ASSERT_TRUE(agent->send_until(*loan, patience()));
  SharedSender sender = agent->shared_sender();
  ASSERT_TRUE(sender.send(to, "of a thread", {}, patience()));
  ASSERT_TRUE(agent->send("talker", "to myself"));
  ASSERT_TRUE(agent->send_until(to, "", patience(), {.type = "stop"}));
  board.sent.raise();
  for (int i = 0; i < 2; ++i) {
    Message own = next_message(*agent);
    ASSERT_TRUE(own.valid());
    own.done();
  }
  EXPECT_TRUE(agent->await_ack(to, sent.id, patience())) << "nobody takes it after it has left";
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowCopy, HK_032_HK_033_TheParentSeesMessagesBetweenItsChildren) {
  auto& shared = board<CopyBoard>();
  auto agent = attach("queen");
  ASSERT_TRUE(agent);
  troupe().start("listener");
  troupe().start("talker");
  ASSERT_TRUE(shared.attached.await(2, patience()));
  shared.go.raise();

  // The answer may be seen first, because it comes through another link.
  Message copy = next_message(*agent, {.type = "sibling_traffic:gossip"});
  ASSERT_TRUE(copy.valid());
  ASSERT_TRUE(shared.sent.await(1, patience()));
  EXPECT_TRUE(copy.is_copy());
  EXPECT_EQ(copy.type(), "sibling_traffic:gossip");
  EXPECT_EQ(copy.channel(), "corridor");
  EXPECT_EQ(copy.from(), peer_of(*agent, "talker").pid);
  EXPECT_EQ(copy.to(), peer_of(*agent, "listener").pid);
  EXPECT_EQ(copy.rank(), kLow);
  EXPECT_EQ(copy.reply_to(), 4711U);
  EXPECT_EQ(copy.ttl_ms(), 0U);
  EXPECT_FALSE(copy.requires_ack());
  EXPECT_EQ(copy.cause(), shared.id.load());
  EXPECT_NE(copy.id(), shared.id.load());
  EXPECT_EQ(copy.trace().trace_id[0], 7);
  EXPECT_EQ(copy.text(), "psst");
  copy.done();

  struct Expected {
    std::string text;
    std::uint64_t full_length;
  };
  const std::string cut(kWhole, 'x');
  for (const Expected& expected :
       {Expected{cut, kWhole}, Expected{cut, kLong}, Expected{std::string(kWhole, 'y'), kLong},
        Expected{"of a thread", 11}, Expected{"to myself", 9}}) {
    Message next = next_message(*agent, {.type = "sibling_traffic:"});
    ASSERT_TRUE(next.valid());
    EXPECT_TRUE(next.text() == expected.text) << next.text().size();
    EXPECT_EQ(next.is_cut(), expected.full_length > kWhole);
    EXPECT_EQ(next.full_length(), expected.full_length);
    EXPECT_EQ(next.to() == next.from(), expected.text == "to myself") << "HK-038";
    next.done();
  }
  Message stop = next_message(*agent, {.type = "sibling_traffic:stop"});
  stop.done();
  Message answer = next_message(*agent, {.type = "sibling_traffic:more gossip"});
  ASSERT_TRUE(answer.valid()) << "HK-032: an answer is a message like any other";
  EXPECT_EQ(answer.from(), peer_of(*agent, "listener").pid);
  answer.done();
  troupe().wait_all(patience());
  expect_balance(*agent);
}

TEST_P(FlowCopy, HK_050_AHandlerIsNotHandedCopiesThatItDidNotAskFor) {
  auto& shared = board<CopyBoard>();
  AttachOptions options = named("queen");
  options.order = Order::kFifo;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  troupe().start("listener");
  troupe().start("talker");
  ASSERT_TRUE(shared.attached.await(2, patience()));
  shared.go.raise();
  constexpr std::uint32_t kCopies = 8;
  ASSERT_NO_FATAL_FAILURE(await_queued(*agent, kCopies));
  ASSERT_TRUE(agent->send("queen", "after the copies"));
  ASSERT_NO_FATAL_FAILURE(await_queued(*agent, kCopies + 1));
  const auto handle = [](Message& message) {
    EXPECT_FALSE(message.is_copy());
    EXPECT_EQ(message.text(), "after the copies");
    return Ack{};
  };
  EXPECT_EQ(*agent->serve(handle, {.until = patience(), .most = 1}), 1U);
  EXPECT_EQ(agent->counters().done, kCopies + 1) << "they are finished unseen";
  EXPECT_EQ(agent->counters().queued, 0U);
  troupe().wait_all(patience());
  expect_balance(*agent);
}

// Sends more messages than the copies that its parent, which does not look, has room for.
BEELINE_ROLE(chatterbox) {
  auto& board = context.board<CopyBoard>();
  auto agent = talker_of(board);
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "listener");
  for (std::uint32_t i = 0; i < kFlood; ++i) {
    ASSERT_TRUE(agent->send_until(to, std::string(40, 'x'), patience(), {.type = "chat"}));
  }
  ASSERT_TRUE(agent->send_until(to, "", patience(), {.type = "stop"}));
  EXPECT_TRUE(agent->send("queen", "for you" + std::string(100, '.'), {.type = "report"}));
  for (const LinkCounters& link : agent->links()) {
    if (link.peer == agent->parent()) board.shown.store(link.sent - 1);
    if (link.peer == agent->parent()) {
      EXPECT_EQ(link.sent - 1 + link.copies_dropped, kFlood + 1) << "C-37";
      EXPECT_EQ(link.sent - 1, 64U + 1U) << "half of the slabs of this size, and an empty one";
    }
  }
  board.sent.raise();
  EXPECT_TRUE(board.go.await(2, patience()));
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowCopy, C_37_AParentThatDoesNotLookHoldsNobodyUp) {
  auto& shared = board<CopyBoard>();
  AttachOptions options = named("queen");
  options.inbox_capacity = 16;  // less than the copies that lie in the lane
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  const std::size_t listener = troupe().start("listener");
  troupe().start("chatterbox");
  ASSERT_TRUE(shared.attached.await(2, patience()));
  shared.go.raise();
  ASSERT_TRUE(shared.sent.await(1, patience()));
  troupe().wait(listener, patience());

  Message report = next_message(*agent, {.type = "report"});
  ASSERT_TRUE(report.valid()) << "copies go first when the table is full";
  EXPECT_EQ(report.text().substr(0, 7), "for you");
  report.done();
  std::uint64_t seen = 0;
  while (auto copy = agent->try_receive()) {
    EXPECT_TRUE(copy->is_copy());
    if (seen++ == 0) {
      copy->requeue();
      EXPECT_GT(agent->counters().copies_dropped, 0U);
    } else {
      copy->done();
    }
  }
  EXPECT_EQ(seen + agent->counters().copies_dropped, shared.shown.load() + 1)
      << "one was put back, and a copy is not handed out again";
  shared.go.raise();
  troupe().wait_all(patience());
  expect_balance(*agent);
}

// Uses more types and channels than its link to the parent has room for.
constexpr std::uint32_t kTopics = 127;  // a type and a channel each

BEELINE_ROLE(polymath) {
  auto& board = context.board<CopyBoard>();
  auto agent = talker_of(board);
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "listener");
  const Peer queen = peer_of(*agent, "queen");
  for (std::uint32_t i = 0; i < kTopics; ++i) {
    const std::string number = std::to_string(i);
    ASSERT_TRUE(agent->send_until(to, "", patience(),
                                  {.type = "type " + number, .channel = "channel " + number}));
    // The answer shows that the parent has taken all copies in the lane, so there is room again.
    auto seen = agent->request(queen, "", patience());
    ASSERT_TRUE(seen) << seen.error().text;
    seen->done();
  }
  ASSERT_TRUE(agent->send_until(to, "", patience(), {.type = "stop"}));
  for (const LinkCounters& link : agent->links()) {
    if (link.peer != agent->parent()) continue;
    board.shown.store(link.sent - kTopics);
    EXPECT_EQ(link.sent - kTopics + link.copies_dropped, kTopics + 1);
  }
  EXPECT_TRUE(agent->cancel(queen, 4711)) << "HK-033: copies leave names for messages";
  EXPECT_TRUE(agent->escalate("help"));
  EXPECT_TRUE(agent->send(queen, "", {.type = "report", .channel = "private"}));
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowCopy, HK_033_CopiesLeaveHalfOfTheTypesAndChannelsOfALinkToMessages) {
  auto& shared = board<CopyBoard>();
  auto agent = attach("queen");
  ASSERT_TRUE(agent);
  troupe().start("listener");
  troupe().start("polymath");
  ASSERT_TRUE(shared.attached.await(2, patience()));
  shared.go.raise();
  std::uint64_t copies = 0;
  const auto handle = [&](Message& message) {
    if (message.is_copy()) {
      ++copies;
    } else if (message.type().empty()) {
      EXPECT_TRUE(agent->reply(message, ""));
    } else if (message.type() == "report") {
      agent->stop_serving();
    }
    return Ack{};
  };
  ASSERT_TRUE(agent->serve(handle, {.until = patience(), .copies = true}));
  troupe().wait_all(patience());
  while (auto copy = agent->try_receive()) {
    EXPECT_TRUE(copy->is_copy());
    copy->done();
    ++copies;
  }
  EXPECT_EQ(copies, shared.shown.load());
  EXPECT_EQ(copies, kTopics + 1) << "with the word to stop; the later ones carry their names";
  expect_balance(*agent);
}

// ---- Without a ring -----------------------------------------------------------------------------

// A parent that sleeps until a child reports.
BEELINE_ROLE(sleeping_queen) {
  auto& board = context.board<CopyBoard>();
  auto agent = attach("queen");
  ASSERT_TRUE(agent);
  board.pid.store(agent->pid());
  board.os_pid.store(::getpid());
  board.attached.raise();
  Message report = next_message(*agent, {.type = "report"});
  ASSERT_TRUE(report.valid());
  report.done();
  std::uint64_t copies = 0;
  for (; auto copy = agent->try_receive(); ++copies) {
    EXPECT_TRUE(copy->is_copy());
    copy->done();
  }
  EXPECT_GT(copies, 0U) << "it finds them when something else wakes it";
  expect_balance(*agent);
}

TEST_P(FlowCopy, C_37_CopiesDoNotWakeTheParent) {
  auto& shared = board<CopyBoard>();
  troupe().start("sleeping_queen");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  auto agent = attach("talker", "queen");
  ASSERT_TRUE(agent);
  troupe().start("listener");
  ASSERT_TRUE(shared.attached.await(2, patience()));
  const Peer listener = peer_of(*agent, "listener");
  const auto gossip = [&] {
    auto answer = agent->request(listener, "psst", patience(), {.type = "gossip"});
    ASSERT_TRUE(answer) << answer.error().text;
    answer->done();
  };
  ASSERT_NO_FATAL_FAILURE(gossip()) << "it opens the links to the parent, who learns of those";
  const StatusProbe probe(hive().name(), shared.os_pid.load(), shared.pid.load());
  // A sleeper wakes by itself every 9 s or so, but not each time.
  const auto begin = std::chrono::steady_clock::now();
  int woken = 0;
  for (int slept_on = 0; slept_on < 10;) {
    const auto by_itself = (std::chrono::steady_clock::now() - begin) / 8s;
    ASSERT_LE(woken, by_itself + 4) << "copies wake the parent";
    ASSERT_TRUE(probe.await_long_sleep(shm::Sleep::kEvent, patience()));
    const std::uint64_t before = probe.sleeps();
    for (int i = 0; i < 10; ++i) ASSERT_NO_FATAL_FAILURE(gossip());
    const bool sleeps = probe.sleeps() == before && probe.sleep() == shm::Sleep::kEvent;
    ++(sleeps ? slept_on : woken);
  }
  ASSERT_TRUE(agent->send("queen", "", {.type = "report"}));
  ASSERT_TRUE(agent->send(listener, "", {.type = "stop"}));
  troupe().wait_all(patience());
  EXPECT_EQ(agent->detach(patience()), 0U);
}

// ---- Where there are none -----------------------------------------------------------------------

// king - queen - {child - grandchild, listener}; king - cousin
BEELINE_ROLE(relative) {
  auto& board = context.board<CopyBoard>();
  const bool is_cousin = context.number == 1;
  auto agent = attach(is_cousin ? "cousin" : "grandchild", is_cousin ? "" : "child");
  ASSERT_TRUE(agent);
  board.attached.raise();
  for (int i = 0; i < 2; ++i) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    const Pid between = is_cousin ? 1 : message.from();
    EXPECT_EQ(message.via(), message.relation() == Relation::kParent ? 0 : between) << "C-05";
    EXPECT_TRUE(agent->reply(message, "answer"));
    message.done();
  }
  EXPECT_EQ(agent->detach(patience()), 0U);
}

BEELINE_ROLE(child) {
  auto& board = context.board<CopyBoard>();
  auto agent = attach("child", "queen");
  ASSERT_TRUE(agent);
  board.attached.raise();
  ASSERT_TRUE(board.go.await(1, patience()));
  for (const char* to : {"queen", "grandchild", "cousin"}) {
    auto answer = agent->request(peer_of(*agent, to), "hello", patience());
    ASSERT_TRUE(answer) << answer.error().text;
    answer->done();
  }
  EXPECT_EQ(agent->counters().drained, 3U) << "nothing but the answers";
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowCopy, HK_031_HK_034_OnlySiblingsAreOverheard) {
  auto& shared = board<CopyBoard>();
  auto agent = attach("queen");
  ASSERT_TRUE(agent);
  troupe().start("child");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  troupe().start("relative", 0);
  troupe().start("relative", 1);
  ASSERT_TRUE(shared.attached.await(3, patience()));
  for (const char* to : {"grandchild", "cousin"}) {
    auto answer = agent->request(peer_of(*agent, to), "hello", patience());
    ASSERT_TRUE(answer) << answer.error().text;
    answer->done();
  }
  shared.go.raise();
  Message question = next_message(*agent);
  ASSERT_TRUE(question.valid());
  EXPECT_EQ(question.relation(), Relation::kChild);
  EXPECT_EQ(question.via(), 0U);
  EXPECT_TRUE(agent->reply(question, "answer"));
  question.done();
  troupe().wait_all(patience());
  EXPECT_EQ(agent->counters().drained, 3U) << "no copy of what others say across branches";
  EXPECT_FALSE(agent->try_receive());
  expect_balance(*agent);
}

}  // namespace
}  // namespace beeline::test
