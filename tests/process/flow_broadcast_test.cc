// Broadcasts: their receivers, the outcome for each target, and messages that do not fit.

#include <algorithm>
#include <atomic>
#include <cstring>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

constexpr std::size_t kMembers = 6;
constexpr std::size_t kLongest = 16;

struct Log {
  std::atomic<std::uint32_t> count;
  char channels[kLongest];  // first letter of each message's channel, in order of arrival
  MessageId ids[kLongest];
};

struct BroadcastBoard {
  Event attached;
  Event go;
  Log logs[kMembers];
};

class FlowBroadcast : public HiveTest {
 protected:
  // Starts members one after the other, so that their pids rise.
  void start(const std::vector<std::uint32_t>& members) {
    auto& shared = board<BroadcastBoard>();
    for (const std::uint32_t member : members) {
      const std::uint32_t before = shared.attached.count();
      troupe().start("member", member);
      ASSERT_TRUE(shared.attached.await(before + 1, patience())) << member;
    }
  }
  [[nodiscard]] std::string log(std::size_t member) {
    const Log& kept = board<BroadcastBoard>().logs[member];
    return {kept.channels, kept.count.load()};
  }
};
BEELINE_BOTH_WORLDS(FlowBroadcast);

// king - {boss - {lead - worker, task}, stranger}; mayfly is a child of boss that ends at once.
struct Place {
  const char* name;
  const char* parent;
  const char* role;
};
enum Member : std::uint32_t { kLead, kTask, kWorker, kStranger, kMayfly, kSlow };
constexpr Place kPlaces[kMembers] = {
    {"lead", "boss", "lead"}, {"task", "boss", "task"},     {"worker", "lead", "worker"},
    {"stranger", "", "lead"}, {"mayfly", "boss", "worker"}, {"slow", "boss", "worker"},
};

// Logs its messages until it is told to stop; the slow one starts when it is told to go.
BEELINE_ROLE(member) {
  auto& board = context.board<BroadcastBoard>();
  const Place& place = kPlaces[context.number];
  AttachOptions options = named(place.name, place.parent);
  options.role = place.role;
  options.temporary = context.number == kMayfly;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  board.attached.raise();
  if (context.number == kMayfly) return;
  if (context.number == kSlow) {
    ASSERT_TRUE(board.go.await(1, patience()));
  }
  Log& log = board.logs[context.number];
  for (;;) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    const bool last = message.type() == "stop";
    if (!last) {
      const std::uint32_t at = log.count.load();
      ASSERT_LT(at, kLongest);
      log.channels[at] = message.channel().empty() ? '-' : message.channel().front();
      log.ids[at] = message.id();
      log.count.store(at + 1);
    }
    message.done();
    if (last) break;
  }
  EXPECT_EQ(agent->detach(patience()), 0U);
  expect_balance(*agent);
}

// "name:result" of each, in order.
std::vector<std::string> told(const std::vector<Delivery>& deliveries) {
  std::vector<std::string> texts;
  for (const Delivery& to : deliveries) {
    texts.push_back(to.name + ":" + std::string(to_string(to.result.status)));
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST_P(FlowBroadcast, C_34_EachGroupGetsItsBroadcastUnderOneId) {
  auto boss = attach("boss");
  ASSERT_TRUE(boss);
  ASSERT_NO_FATAL_FAILURE(start({kLead, kTask, kWorker, kStranger, kMayfly}));
  troupe().wait(4, patience());  // the mayfly is dead, so it is no target
  struct Sent {
    Group group;
    const char* channel;
    Texts expected;
  };
  const Sent all[] = {
      {Group::all(), "all", {"lead:ok", "task:ok", "worker:ok", "stranger:ok"}},
      {Group::children(), "children", {"lead:ok", "task:ok"}},
      {Group::subtree(), "subtree", {"lead:ok", "task:ok", "worker:ok"}},
      {Group::role("lead"), "role", {"lead:ok", "stranger:ok"}},
      {Group::role("no such role"), "none", {}},
  };
  std::vector<MessageId> ids;
  for (const Sent& sent : all) {
    const auto deliveries = boss->broadcast(sent.group, "hear me", {.channel = sent.channel});
    EXPECT_EQ(told(deliveries), sent.expected) << sent.channel;
    for (const Delivery& to : deliveries) EXPECT_EQ(to.result.id, deliveries.front().result.id);
    ids.push_back(deliveries.empty() ? 0 : deliveries.front().result.id);
  }
  EXPECT_EQ(told(boss->broadcast(Group::all(), "", {.type = "stop"})).size(), 4U);
  troupe().wait_all(patience());
  EXPECT_EQ(log(kLead), "acsr");
  EXPECT_EQ(log(kTask), "acs");
  EXPECT_EQ(log(kWorker), "as");
  EXPECT_EQ(log(kStranger), "ar");
  const auto& logs = board<BroadcastBoard>().logs;
  EXPECT_EQ(logs[kLead].ids[0], ids[0]);
  EXPECT_EQ(logs[kWorker].ids[0], ids[0]);
  EXPECT_EQ(logs[kStranger].ids[0], ids[0]);
  EXPECT_EQ(logs[kLead].ids[3], ids[3]);
  EXPECT_NE(ids[0], ids[1]);
}

TEST_P(FlowBroadcast, AFullOneNeitherBlocksNorCutsOffTheOthers) {
  AttachOptions options = named("boss");
  options.normal_slots = 8;
  auto boss = attach(options);
  ASSERT_TRUE(boss);
  ASSERT_NO_FATAL_FAILURE(start({kSlow, kLead, kTask}));
  const Peer slow = peer_of(*boss, "slow");
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(boss->send(slow, "filler", {.channel = "filler"}));
  const auto deliveries = boss->broadcast(Group::children(), "hear me", {.channel = "broadcast"});
  EXPECT_EQ(told(deliveries), (Texts{"slow:full", "lead:ok", "task:ok"}));

  // The stop message is critical and would overtake this one.
  ASSERT_NO_FATAL_FAILURE(
      drain_until(*boss, [&] { return !log(kLead).empty() && !log(kTask).empty(); }));
  board<BroadcastBoard>().go.raise();
  ASSERT_TRUE(boss->send_until(slow, "space", patience(), {.channel = "x"}));
  for (Texts again; again != Texts{"slow:ok", "lead:ok", "task:ok"};) {
    again = told(boss->broadcast(Group::children(), "again", {.rank = kCritical, .type = "stop"}));
    ASSERT_EQ(again.size(), 3U);
  }
  troupe().wait_all(patience());
  EXPECT_LE(log(kSlow).size(), 9U) << "what was full there never comes";
  EXPECT_EQ(log(kSlow).find('b'), std::string::npos);
  EXPECT_EQ(log(kLead), "b");
  EXPECT_EQ(log(kTask), "b");
}

TEST_P(FlowBroadcast, HK_036_ATaskReachesItsParentAlone) {
  auto boss = attach("boss");
  ASSERT_TRUE(boss);
  ASSERT_NO_FATAL_FAILURE(start({kLead, kStranger}));
  AttachOptions options = named("envoy", "lead");
  options.role = "task";
  auto task = attach(options);
  ASSERT_TRUE(task);
  EXPECT_EQ(told(task->broadcast(Group::all(), "to my parent", {.channel = "task"})),
            Texts{"lead:ok"});
  EXPECT_EQ(told(task->broadcast(Group::role("lead"), "leads", {.channel = "lead"})),
            (Texts{"lead:ok", "stranger:denied"}));
  EXPECT_EQ(task->detach(patience()), 0U);
  // The stop message comes from above and would overtake this one.
  ASSERT_NO_FATAL_FAILURE(drain_until(*boss, [&] { return log(kLead).size() == 2; }));
  boss->broadcast(Group::role("lead"), "", {.type = "stop"});
  troupe().wait_all(patience());
  EXPECT_EQ(log(kLead), "tl");
  EXPECT_EQ(log(kStranger), "");
}

std::string pattern(std::size_t length) {
  std::string text(length, ' ');
  for (std::size_t i = 0; i < length; ++i) text[i] = static_cast<char>('a' + i % 23);
  return text;
}

constexpr std::size_t kMost = 64UL << 10;
constexpr std::size_t kLengths[] = {0, 16, 17, 64, 65, kMost, kMost + 1, 1'000'000};

BEELINE_ROLE(reader) {
  auto& board = context.board<BroadcastBoard>();
  auto agent = attach("reader-" + std::to_string(context.number), "boss");
  ASSERT_TRUE(agent);
  board.attached.raise();
  for (const std::size_t length : kLengths) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    EXPECT_EQ(message.is_cut(), length > kMost) << length;
    EXPECT_EQ(message.full_length(), length);
    EXPECT_EQ(message.text(), pattern(std::min(length, kMost))) << length;
    EXPECT_NE(message.cause(), 0U) << length;
    EXPECT_EQ(message.hops(), 1U) << length;
    EXPECT_EQ(message.trace().flags, 9U) << length;
    message.done();
  }
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowBroadcast, ALongPayloadGoesCutAndSaysHowLongItWas) {
  auto boss = attach("boss");
  ASSERT_TRUE(boss);
  auto& shared = board<BroadcastBoard>();
  troupe().start("reader", 0);
  troupe().start("reader", 1);
  ASSERT_TRUE(shared.attached.await(2, patience()));
  // Sends during the handling of a message inherit from it, broadcasts too.
  TraceContext trace;
  trace.flags = 9;
  ASSERT_TRUE(boss->send("boss", "begin", {.trace = trace}));
  Message handled = next_message(*boss);
  ASSERT_TRUE(handled.valid());
  for (const std::size_t length : kLengths) {
    const auto deliveries = boss->broadcast(Group::children(), pattern(length));
    ASSERT_EQ(deliveries.size(), 2U);
    for (const Delivery& to : deliveries) EXPECT_TRUE(to.result) << to.name << " " << length;
  }
  handled.done();
  troupe().wait_all(patience());
}

TEST_P(FlowBroadcast, ABroadcastThatCannotBeSentFailsForEachTarget) {
  AttachOptions options = named("boss");
  options.max_payload_bytes = kMost;
  options.max_hops = 0;
  auto boss = attach(options);
  ASSERT_TRUE(boss);
  ASSERT_NO_FATAL_FAILURE(start({kLead, kTask}));
  const auto too_big = boss->broadcast(Group::children(), pattern(kMost + 1));
  EXPECT_EQ(told(too_big), (Texts{"lead:too_big", "task:too_big"}));
  EXPECT_EQ(too_big.front().result.limit, kMost);
  EXPECT_EQ(told(boss->broadcast(Group::children(), "", {.type = std::string(32, 't')})),
            (Texts{"lead:too_big", "task:too_big"}));
  ASSERT_TRUE(boss->send("boss", "begin"));
  Message handled = next_message(*boss);
  ASSERT_TRUE(handled.valid());
  EXPECT_EQ(told(boss->broadcast(Group::children(), "")), (Texts{"lead:loop", "task:loop"}));
  handled.done();
  EXPECT_EQ(told(boss->broadcast(Group::children(), "", {.type = "stop"})),
            (Texts{"lead:ok", "task:ok"}));
  EXPECT_EQ(boss->detach(patience()), 0U);
  EXPECT_EQ(told(boss->broadcast(Group::role("lead"), "late")), Texts{"lead:no_route"});
  troupe().wait_all(patience());
  EXPECT_EQ(log(kLead), "");
}

// ---- Beside other threads -----------------------------------------------------------------------

constexpr std::uint32_t kTargets = 4;
constexpr std::uint32_t kBurst = 16;

struct BesideBoard {
  Event attached;
  Event taken;
  Event overtaken;
};

// Reports a message that comes after one with a higher id.
BEELINE_ROLE(beside) {
  auto& board = context.board<BesideBoard>();
  auto agent = attach("beside-" + std::to_string(context.number), "boss");
  ASSERT_TRUE(agent);
  board.attached.raise();
  MessageId highest = 0;
  for (bool last = false; !last;) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    last = message.type() == "stop";
    if (message.id() < highest) board.overtaken.raise();
    highest = std::max(highest, message.id());
    message.done();
    board.taken.raise();
  }
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowBroadcast, ASendOfAnotherThreadDoesNotWaitForAllTargetsOfABroadcast) {
  auto& shared = board<BesideBoard>();
  auto boss = attach("boss");
  ASSERT_TRUE(boss);
  for (std::uint32_t i = 0; i < kTargets; ++i) {
    troupe().start("beside", i);
    ASSERT_TRUE(shared.attached.await(i + 1, patience()));
  }
  const Peer last = peer_of(*boss, "beside-" + std::to_string(kTargets - 1));
  std::atomic<std::uint32_t> round{0};
  std::jthread other([&, sender = boss->shared_sender()](const std::stop_token& stop) mutable {
    for (std::uint32_t seen = 0; !stop.stop_requested();) {
      if (round.load() == seen) continue;
      seen = round.load();
      for (std::uint32_t i = 0; i < kBurst; ++i) EXPECT_TRUE(sender.send(last, "of a thread"));
    }
  });
  // All messages of a round are taken before the next round, so no lane is ever full.
  const std::string payload = pattern(kMost);
  const Deadline deadline = patience();
  while (shared.overtaken.count() == 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "the thread waits for all targets";
    ++round;
    const auto deliveries = boss->broadcast(Group::children(), payload);
    ASSERT_EQ(deliveries.size(), kTargets);
    for (const Delivery& to : deliveries) ASSERT_TRUE(to.result) << to.name;
    ASSERT_TRUE(shared.taken.await(round * (kTargets + kBurst), patience()));
  }
  other.request_stop();
  other.join();
  EXPECT_EQ(boss->broadcast(Group::children(), "", {.type = "stop"}).size(), kTargets);
  troupe().wait_all(patience());
}

}  // namespace
}  // namespace beeline::test
