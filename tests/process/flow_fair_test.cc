// Which senders get in while the receiver's table is full.

#include <map>
#include <string>
#include <vector>

#include "src/os/clock.h"
#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct FairBoard {
  Event attached;
  Event full;    // a lane is full, and so is the table behind it
  Event look;    // the test asks the receiver to look into its lanes
  Event looked;  // the receiver has looked
  Event go;
  std::atomic<MessageId> victim;      // a message that was cancelled
  std::atomic<std::int64_t> back_ns;  // when the next life attached, on the steady clock
};

class FlowFair : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowFair);
class FlowFairNextLife : public HiveTest {};
INSTANTIATE_TEST_SUITE_P(As, FlowFairNextLife, testing::Values(World::kProcesses), world_name);

// The receiver looks into its lanes.
void await_look(FairBoard& board) {
  const std::uint32_t round = board.looked.count() + 1;
  board.look.raise();
  ASSERT_TRUE(board.looked.await(round, patience()));
}

// Sends until the lane is full and stays full after the receiver has looked. `last`: the last
// message in the lane.
void fill(Agent& agent, Peer to, FairBoard& board, MessageId& last, std::int32_t rank = kLow) {
  for (;;) {
    const MessageId before = last;
    while (const SendResult sent = agent.send(to, "data", {.rank = rank})) last = sent.id;
    if (last == before) return;
    ASSERT_NO_FATAL_FAILURE(await_look(board));
    // The wait makes sure that the sender knows the receipts.
    const SendResult sent = agent.send_until(to, "data", after(1ms), {.rank = rank});
    if (sent) last = sent.id;
  }
}
void fill(Agent& agent, Peer to, FairBoard& board) {
  MessageId last = 0;
  fill(agent, to, board, last);
}

// Looks whenever it is asked to, until it is told to go on after `told` others.
void look_until_told(Agent& agent, FairBoard& board, std::uint32_t told) {
  for (std::uint32_t round = board.looked.count() + 1; board.go.count() == told; ++round) {
    ASSERT_TRUE(board.look.await(round, patience()));
    drain_what_fits(agent);
    board.looked.raise();
  }
}

// ---- Many senders -------------------------------------------------------------------------------

constexpr std::uint32_t kCrowd = 12;  // more senders than the receiver looks at in a turn

BEELINE_ROLE(pusher) {
  auto& board = context.board<FairBoard>();
  auto agent = attach("pusher-" + std::to_string(context.number));
  ASSERT_TRUE(agent);
  const Peer target = peer_of(*agent, "target");
  ASSERT_TRUE(agent->send(target, "hello"));
  ASSERT_TRUE(board.go.await(1, patience()));
  SendResult sent;
  do {
    sent = agent->send(target, std::to_string(context.number), {.rank = kLow});
  } while (sent);
  EXPECT_EQ(sent.status, SendStatus::kFull);
  board.full.raise();
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowFair, AllLinksGetTheirShareOfAFullTable) {
  auto& shared = board<FairBoard>();
  auto boss = attach("boss");
  ASSERT_TRUE(boss);
  AttachOptions options = named("target", "boss");
  options.inbox_capacity = 64;
  options.order = Order::kStrict;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  ASSERT_TRUE(boss->send(peer_of(*boss, "target"), "hello"));
  for (std::uint32_t i = 0; i < kCrowd; ++i) troupe().start("pusher", i);
  // Once all their links are known.
  for (std::uint32_t i = 0; i < kCrowd + 1; ++i) {
    Message hello = next_message(*agent);
    ASSERT_EQ(hello.text(), "hello");
    hello.done();
  }
  shared.go.raise();
  ASSERT_TRUE(shared.full.await(kCrowd, patience()));
  ASSERT_TRUE(boss->send(peer_of(*boss, "target"), "high", {.rank = kHigh}));
  std::map<std::string, int> taken;
  int before_high = -1;
  for (int i = 0; i < 600; ++i) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    const std::string text(message.text());
    if (text == "high") before_high = i;
    ++taken[text];
    message.done();
  }
  // The last messages may wait in the table: the links share its places.
  for (const InboxItem& item : agent->inbox()) ++taken[item.preview];
  for (std::uint32_t i = 0; i < kCrowd; ++i) {
    EXPECT_GE(taken[std::to_string(i)], 5) << "pusher " << i << ", of 50 at best";
  }
  EXPECT_GE(before_high, 0) << "a parent's message waits for a turn of all at most";
  EXPECT_LE(before_high, 200);
  while (auto message = agent->try_receive()) message->done();
  troupe().wait_all(patience());
  while (auto message = agent->try_receive()) message->done();
}

// ---- Orders -------------------------------------------------------------------------------------

constexpr Order kOrders[] = {Order::kAged, Order::kStrict, Order::kFifo};

// Attaches below the boss, with one of the orders.
std::optional<Agent> attach_governed(std::size_t order) {
  AttachOptions options = named("governed", "boss");
  options.inbox_capacity = 64;
  options.order = kOrders[order];
  return attach(options);
}

BEELINE_ROLE(governed) {
  auto& board = context.board<FairBoard>();
  auto agent = attach_governed(context.number);
  ASSERT_TRUE(agent);
  board.attached.raise();
  Message job = next_message(*agent);
  ASSERT_TRUE(job.valid());
  ASSERT_NO_FATAL_FAILURE(look_until_told(*agent, board, context.number));
  const Deadline deadline = patience();
  while (!job.cancelled() && std::chrono::steady_clock::now() < deadline) {
  }
  EXPECT_TRUE(job.cancelled());
  job.done();
  Message order = next_message(*agent);
  ASSERT_TRUE(order.valid());
  EXPECT_TRUE(order.is_control()) << order.text();
  order.done();
  while (auto message = agent->try_receive()) message->done();
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowFair, OrdersGoBeforeDataThatFindsNoRoom) {
  auto& shared = board<FairBoard>();
  auto agent = attach("boss");
  ASSERT_TRUE(agent);
  for (std::uint32_t i = 0; i < std::size(kOrders); ++i) {
    troupe().start("governed", i);
    ASSERT_TRUE(shared.attached.await(i + 1, patience()));
    const Peer governed = peer_of(*agent, "governed");
    const SendResult job = agent->send(governed, "job");
    ASSERT_TRUE(job);
    ASSERT_NO_FATAL_FAILURE(fill(*agent, governed, shared));
    ASSERT_TRUE(agent->send(governed, "critical", {.rank = kCritical}));
    ASSERT_TRUE(agent->send_control(governed, kSteerOrder, "to the left"));
    ASSERT_TRUE(agent->cancel(governed, job.id));
    shared.go.raise();
    shared.look.raise();
    troupe().wait_all(patience());
  }
}

// A sibling of the governed agent that fills the places of critical messages.
BEELINE_ROLE(alarmist) {
  auto& board = context.board<FairBoard>();
  auto agent = attach("alarmist", "boss");
  ASSERT_TRUE(agent);
  MessageId last = 0;
  ASSERT_NO_FATAL_FAILURE(fill(*agent, peer_of(*agent, "governed"), board, last, kCritical));
  board.full.raise();
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowFair, AnOrderOfASuperiorGetsThePlaceOfAWaitingOne) {
  auto& shared = board<FairBoard>();
  auto agent = attach("boss");
  ASSERT_TRUE(agent);
  troupe().start("governed");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  const Peer governed = peer_of(*agent, "governed");
  const SendResult job = agent->send(governed, "job");
  ASSERT_TRUE(job);
  MessageId last = 0;
  ASSERT_NO_FATAL_FAILURE(fill(*agent, governed, shared, last));
  troupe().start("alarmist");
  ASSERT_TRUE(shared.full.await(1, patience()));
  // Its message lies in the lane, so the order keeps the place of control messages.
  ASSERT_TRUE(agent->cancel(governed, last));
  ASSERT_NO_FATAL_FAILURE(await_look(shared));
  ASSERT_TRUE(agent->cancel(governed, job.id));
  ASSERT_TRUE(agent->send_control(governed, kSteerOrder, "to the left"));
  shared.go.raise();
  shared.look.raise();
  troupe().wait_all(patience());
}

// Handles a request of an agent that is not above it, until the request is cancelled.
BEELINE_ROLE(besieged) {
  auto& board = context.board<FairBoard>();
  auto agent = attach_governed(context.number);
  ASSERT_TRUE(agent);
  board.attached.raise();
  Message job = next_message(*agent, {.type = "job"});
  ASSERT_TRUE(job.valid());
  ASSERT_NO_FATAL_FAILURE(look_until_told(*agent, board, context.number));
  const Deadline deadline = patience();
  while (!job.cancelled() && std::chrono::steady_clock::now() < deadline) {
  }
  EXPECT_TRUE(job.cancelled());
  EXPECT_EQ(agent->counters().dead, 1U) << "and what waited was taken back before it";
  job.done();
  while (auto message = agent->try_receive()) message->done();
  EXPECT_EQ(agent->purge_all_dead(), 1U);
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowFair, AnOrderToCancelOfAnybodyIsObeyedWhereItFindsNoRoom) {
  auto& shared = board<FairBoard>();
  auto boss = attach("boss");
  auto rival = attach("rival", "boss");
  ASSERT_TRUE(boss && rival);
  for (std::uint32_t i = 0; i < std::size(kOrders); ++i) {
    const std::size_t governed = troupe().start("besieged", i);
    ASSERT_TRUE(shared.attached.await(i + 1, patience()));
    const Peer to = peer_of(*rival, "governed");
    const SendResult job = rival->send(to, "x", {.type = "job"});
    const SendResult next = rival->send(to, "the next");
    ASSERT_TRUE(job && next);
    ASSERT_NO_FATAL_FAILURE(fill(*boss, peer_of(*boss, "governed"), shared));
    const std::size_t alarmist = troupe().start("alarmist");
    ASSERT_TRUE(shared.full.await(i + 1, patience()));
    ASSERT_TRUE(rival->cancel(to, next.id));
    ASSERT_TRUE(rival->cancel(to, job.id));
    shared.go.raise();
    shared.look.raise();
    troupe().wait(governed, patience());
    troupe().wait(alarmist, patience());
  }
  EXPECT_EQ(rival->detach(patience()), 0U);
}

// ---- Orders to cancel ---------------------------------------------------------------------------

constexpr std::uint32_t kFickle = 12;
constexpr std::uint32_t kPushes = 70;
constexpr std::uint32_t kTakenBack = kPushes / 7;

// Cancels each seventh of its messages.
BEELINE_ROLE(fickle_pusher) {
  auto agent = attach("fickle-" + std::to_string(context.number));
  ASSERT_TRUE(agent);
  const Peer target = peer_of(*agent, "target");
  for (std::uint32_t i = 1; i <= kPushes; ++i) {
    const SendResult sent = agent->send_until(target, "x", patience());
    ASSERT_TRUE(sent) << i;
    if (i % 7 != 0) continue;
    while (!agent->cancel(target, sent.id)) {
      EXPECT_FALSE(agent->receive({.timeout = 1ms, .filter = kNobody}));
    }
  }
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowFair, OrdersThatWaitForTheirMessagesFillNoTable) {
  AttachOptions options = named("target");
  options.inbox_capacity = 16;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  for (std::uint32_t i = 0; i < kFickle; ++i) troupe().start("fickle_pusher", i);
  // A message that was handed out before its order came counts as taken.
  std::uint32_t taken = 0;
  while (taken < kFickle * (kPushes - kTakenBack)) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid()) << "after " << taken;
    message.done();
    ++taken;
  }
  while (agent->counters().drained < kFickle * (kPushes + kTakenBack)) {
    const auto more = agent->receive({.timeout = 1ms});
    if (more) ++taken;
  }
  troupe().wait_all(patience());
  EXPECT_LE(taken, kFickle * kPushes);
  EXPECT_LE(agent->counters().dead, 4U) << "a quarter of the table";
}

// The first life looks and takes nothing; the next one takes everything.
BEELINE_ROLE(crammed) {
  auto& board = context.board<FairBoard>();
  AttachOptions options = named("crammed", "boss");
  options.inbox_capacity = 16;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  const std::uint32_t life = board.attached.count();
  board.back_ns.store(os::monotonic_ns());
  board.attached.raise();
  if (life == 0) return look_until_told(*agent, board, 0);
  for (bool last = false; !last;) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    last = message.text() == "the end";
    EXPECT_NE(message.id(), board.victim.load());
    message.done();
  }
  EXPECT_EQ(agent->counters().dead, 1U);
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowFairNextLife, AnOrderWhosePlaceWouldMakeNoRoomOutlivesAKill) {
  auto& shared = board<FairBoard>();
  auto agent = attach("boss");
  ASSERT_TRUE(agent);
  const std::size_t receiver = troupe().start("crammed");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  const Peer crammed = peer_of(*agent, "crammed");
  MessageId last = 0;
  ASSERT_NO_FATAL_FAILURE(fill(*agent, crammed, shared, last));
  shared.victim.store(last);
  // The order takes a place of critical messages; the place that is left is no room for data.
  ASSERT_TRUE(agent->cancel(crammed, last));
  ASSERT_NO_FATAL_FAILURE(await_look(shared));
  troupe().kill(receiver);
  troupe().restart(receiver);
  // A sender that waits for space looks around by itself every 10 s, so a faster end shows a ring.
  // The time until the next life attached does not count.
  ASSERT_TRUE(agent->send_until(crammed, "the end", patience(), {.rank = kLow}));
  const std::int64_t sent_ns = os::monotonic_ns();
  ASSERT_TRUE(shared.attached.await(2, patience()));
  EXPECT_LT(std::chrono::nanoseconds(sent_ns - shared.back_ns.load()), 8s);
  troupe().wait_all(patience());
}

// ---- Requests -----------------------------------------------------------------------------------

// Sends some messages of its own before each answer.
BEELINE_ROLE(chatterer) {
  auto& board = context.board<FairBoard>();
  auto agent = attach("talker");
  ASSERT_TRUE(agent);
  board.attached.raise();
  const Peer asker = peer_of(*agent, "asker");
  while (board.full.count() == 0) {
    auto question = agent->receive({.timeout = 10ms});
    if (!question) continue;
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(agent->send(asker, "by the way"));
    EXPECT_TRUE(agent->reply(*question, "an answer"));
    question->done();
  }
  EXPECT_EQ(agent->detach(patience()), 0U);
}

BEELINE_ROLE(eager_asker) {
  auto& board = context.board<FairBoard>();
  AttachOptions options = named("asker", "boss");
  options.inbox_capacity = 64;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  const Peer talker = peer_of(*agent, "talker");
  board.attached.raise();
  Message job = next_message(*agent);
  ASSERT_TRUE(job.valid());
  ASSERT_NO_FATAL_FAILURE(look_until_told(*agent, board, 0));
  // The answers bring other messages along, until these find no room either.
  int answered = 0;
  for (;; ++answered) {
    auto answer = agent->request(talker, "?", after(answered == 0 ? kPatience : 300ms));
    if (!answer) break;
    answer->done();
  }
  EXPECT_GE(answered, 1) << "what lies before the first answer is let in with it";
  board.full.raise();
  const Deadline deadline = patience();
  while (!job.cancelled() && std::chrono::steady_clock::now() < deadline) {
  }
  EXPECT_TRUE(job.cancelled()) << "the share of orders is left";
  job.done();
  while (auto message = agent->try_receive()) message->done();
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowFair, RequestsLeaveOrdersTheirShareOfAFullTable) {
  auto& shared = board<FairBoard>();
  auto agent = attach("boss");
  ASSERT_TRUE(agent);
  troupe().start("chatterer");
  troupe().start("eager_asker");
  ASSERT_TRUE(shared.attached.await(2, patience()));
  const Peer asker = peer_of(*agent, "asker");
  const SendResult job = agent->send(asker, "job");
  ASSERT_TRUE(job);
  ASSERT_NO_FATAL_FAILURE(fill(*agent, asker, shared));
  shared.go.raise();
  shared.look.raise();
  ASSERT_TRUE(shared.full.await(1, patience()));
  ASSERT_TRUE(agent->cancel(asker, job.id));
  troupe().wait_all(patience());
}

}  // namespace
}  // namespace beeline::test
