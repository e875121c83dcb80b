// The order in which an inbox delivers: by rank and age, by rank, by arrival.

#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct OrderBoard {
  Event attached;
  Event sent;
  Event go;
};

class FlowOrder : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowOrder);

// Sends LOW, CRITICAL, NORMAL, and eight equal messages.
BEELINE_ROLE(ranked) {
  auto& board = context.board<OrderBoard>();
  auto agent = attach("sender");
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "receiver");
  ASSERT_TRUE(agent->send(to, "low", {.rank = kLow}));
  ASSERT_TRUE(agent->send(to, "critical", {.rank = kCritical}));
  ASSERT_TRUE(agent->send(to, "normal", {.rank = kNormal}));
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(agent->send(to, std::to_string(i), {.rank = kHigh}));
  }
  board.sent.raise();
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowOrder, HK_004_C_03_LowerRanksFirstAndEqualOnesAsTheyWereSent) {
  std::uint64_t sent = 0;
  for (const double factor : {0.1, 0.0}) {
    AttachOptions options = named("receiver");
    options.aging_factor = factor;
    auto agent = attach(options);
    ASSERT_TRUE(agent);
    const std::size_t sender = troupe().start("ranked");
    await_drained(*agent, sent += 11);  // the counters include a predecessor's
    ASSERT_FALSE(agent->inbox().empty());
    EXPECT_EQ(agent->inbox().front().preview, "critical") << "HK-024";
    // Siblings under the coordinator: low counts as normal (HK-007), and came first.
    EXPECT_EQ(take_texts(*agent), (std::vector<std::string>{"critical", "0", "1", "2", "3", "4",
                                                            "5", "6", "7", "low", "normal"}))
        << "HK-010, factor " << factor;
    troupe().wait(sender, patience());
    EXPECT_EQ(agent->detach(), 0U);
  }
}

constexpr double kFast = 50;  // ranks per second: one rank is worth 20 ms

// A LOW message grows old before CRITICAL ones are sent.
BEELINE_ROLE(aging) {
  auto& board = context.board<OrderBoard>();
  auto agent = attach("child", "receiver");
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "receiver");
  ASSERT_TRUE(agent->send(to, "old low", {.rank = kLow}));
  let_pass(100ms);
  ASSERT_TRUE(agent->send(to, "fresh critical", {.rank = kCritical}));
  board.sent.raise();
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowOrder, HK_008_AMessageThatIsOldEnoughOvertakesFreshUrgentOnes) {
  auto& shared = board<OrderBoard>();
  std::uint32_t round = 0;
  for (const double factor : {kFast, 0.1, 0.0}) {
    AttachOptions options = named("receiver");
    options.aging_factor = factor;
    auto agent = attach(options);
    ASSERT_TRUE(agent);
    const std::size_t sender = troupe().start("aging");
    // Both arrive together: age counts from the send (HK-011).
    ASSERT_TRUE(shared.sent.await(++round, patience()));
    await_drained(*agent, 2 * round);
    const auto texts = take_texts(*agent);
    ASSERT_EQ(texts.size(), 2U);
    EXPECT_EQ(texts.front(), factor == kFast ? "old low" : "fresh critical") << "factor " << factor;
    troupe().wait(sender, patience());
    EXPECT_EQ(agent->detach(), 0U);
  }
}

// ---- The formula --------------------------------------------------------------------------------

constexpr int kRounds = 50;
constexpr int kInRound = 6;

// Messages of all ranks over many steps of the clock.
BEELINE_ROLE(over_time) {
  auto agent = attach("child", "receiver");
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "receiver");
  std::mt19937 random(context.number);
  for (int i = 0; i < kRounds * kInRound; ++i) {
    if (i % kInRound == 0) let_pass(1ms);
    const auto rank = static_cast<std::int32_t>(random() % 4);
    ASSERT_TRUE(agent->send_until(to, std::to_string(i), patience(), {.rank = rank}));
  }
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowOrder, HK_009_TheOrderIsThatOfSentPlusRankDividedByFactor) {
  AttachOptions options = named("receiver");
  options.aging_factor = kFast;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  troupe().start("over_time", 7);
  ASSERT_NO_FATAL_FAILURE(await_drained(*agent, kRounds * kInRound));
  struct Taken {
    double key;  // of the formula, in seconds
    std::int32_t rank;
    int number;
  };
  std::vector<Taken> taken;
  while (auto message = agent->try_receive()) {
    const double sent = static_cast<double>(message->sent_ns()) / 1e9;
    taken.push_back(
        {sent + message->rank() / kFast, message->rank(), std::stoi(std::string(message->text()))});
    message->done();
  }
  ASSERT_EQ(taken.size(), static_cast<std::size_t>(kRounds * kInRound));
  constexpr double kMicrosecond = 1e-6;  // in which keys are counted
  int overtaken = 0;
  for (std::size_t i = 1; i < taken.size(); ++i) {
    const Taken& before = taken[i - 1];
    const Taken& now = taken[i];
    EXPECT_LE(before.key, now.key + kMicrosecond) << before.number << " before " << now.number;
    // C-03: messages of one rank keep the order of their sends.
    if (before.rank == now.rank) {
      EXPECT_LT(before.number, now.number);
    }
    if (now.rank < before.rank && now.number > before.number) ++overtaken;
  }
  EXPECT_GT(overtaken, 0) << "an old message of a lower urgency goes before a fresh one";
  troupe().wait_all(patience());
}

// ---- A handler ----------------------------------------------------------------------------------

constexpr int kRanked = 50;

// The first message keeps the handler busy until all the others were sent.
BEELINE_ROLE(mixed) {
  auto& board = context.board<OrderBoard>();
  auto agent = attach("child", "receiver");
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "receiver");
  ASSERT_TRUE(agent->send(to, "first", {.rank = kLow}));
  ASSERT_TRUE(board.go.await(1, patience()));
  for (int i = 0; i < kRanked; ++i) {
    // The urgent lane holds twelve of rank 0.
    const std::int32_t rank = i % 5 == 0 ? kCritical : kHigh + i % 3;
    ASSERT_TRUE(agent->send(to, std::to_string(i), {.rank = rank}));
  }
  board.sent.raise();
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowOrder, C_15_ABusyHandlerIsHandedTheRestInTheOrderOfTheirKeys) {
  auto& shared = board<OrderBoard>();
  AttachOptions options;
  options.name = "receiver";
  options.inbox_capacity = 256;  // so one look does not take all of them
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  troupe().start("mixed");
  int at_once = 0;
  std::vector<std::int32_t> ranks;
  std::vector<int> numbers;
  const auto handle = [&](Message& message) {
    EXPECT_EQ(++at_once, 1) << "one at a time";
    if (message.text() == "first") {
      shared.go.raise();
      EXPECT_TRUE(shared.sent.await(1, patience()));
    } else {
      ranks.push_back(message.rank());
      numbers.push_back(std::stoi(std::string(message.text())));
    }
    --at_once;
    return Ack{};
  };
  const auto served = agent->serve(handle, {.most = kRanked + 1});
  ASSERT_TRUE(served) << served.error().text;
  ASSERT_EQ(ranks.size(), static_cast<std::size_t>(kRanked));
  EXPECT_TRUE(std::is_sorted(ranks.begin(), ranks.end()));
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    if (ranks[i] == ranks[i - 1]) {
      EXPECT_LT(numbers[i - 1], numbers[i]) << "C-03";
    }
  }
  EXPECT_EQ(agent->counters().queued, 0U) << "C-07, HK-051: nothing is kept that was delivered";
  EXPECT_EQ(*agent->serve(handle, {.until = after(1ms)}), 0U);
  troupe().wait_all(patience());
}

// ---- By arrival ---------------------------------------------------------------------------------

constexpr int kArrivals = 400;  // more than the lanes hold

// Numbers of all ranks: those of rank 0 and below go through the urgent lane.
BEELINE_ROLE(both_lanes) {
  auto& board = context.board<OrderBoard>();
  auto agent = attach("sender-" + std::to_string(context.number));
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "receiver");
  constexpr std::int32_t kOfAllRanks[] = {kLow,  kCritical, kNormal, 70,
                                          kHigh, -7,        kNormal, kNormal};
  const int count = context.number == 0 ? kArrivals : 20;
  for (int i = 0; i < count; ++i) {
    const std::int32_t rank = kOfAllRanks[static_cast<std::size_t>(i) % std::size(kOfAllRanks)];
    ASSERT_TRUE(agent->send_until(to, std::to_string(i), patience(), {.rank = rank}));
  }
  board.sent.raise();
  EXPECT_EQ(agent->detach(patience()), 0U);
}

std::vector<std::string> numbers_below(int end) {
  std::vector<std::string> numbers;
  for (int i = 0; i < end; ++i) numbers.push_back(std::to_string(i));
  return numbers;
}

AttachOptions fifo() {
  AttachOptions options = named("receiver");
  options.order = Order::kFifo;
  return options;
}

TEST_P(FlowOrder, C_15_AMessageOfHigherRankGoesBeforeTheMessagesInTheInbox) {
  auto receiver = attach("receiver");
  auto sender = attach("sender");
  ASSERT_TRUE(receiver && sender);
  const Peer to = peer_of(*sender, "receiver");
  for (const char* text : {"first", "second"}) {
    ASSERT_TRUE(sender->send(to, text, {.rank = kLow}));
  }
  next_message(*receiver).done();
  ASSERT_TRUE(sender->send(to, "high", {.rank = kHigh}));
  EXPECT_EQ(next_message(*receiver).text(), "high");
}

TEST_P(FlowOrder, C_03_AMessageAloneInItsLaneWaitsForTheMessagesInTheInbox) {
  auto receiver = attach("receiver");
  auto sender = attach("sender");
  ASSERT_TRUE(receiver && sender);
  const Peer to = peer_of(*sender, "receiver");
  ASSERT_TRUE(sender->send(to, "first"));
  ASSERT_TRUE(sender->send(to, "second"));
  const auto take = [&] {
    Message message = next_message(*receiver);
    std::string text(message.text());
    message.done();
    return text;
  };
  EXPECT_EQ(take(), "first");
  ASSERT_TRUE(sender->send(to, "third"));
  EXPECT_EQ(take(), "second");
  EXPECT_EQ(take(), "third");
}

TEST_P(FlowOrder, C_03_AFifoInboxMergesBothLanesAsTheyWereSent) {
  auto agent = attach(fifo());
  ASSERT_TRUE(agent);
  // Messages are taken while they are sent.
  troupe().start("both_lanes", 0);
  for (int i = 0; i < kArrivals; ++i) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    ASSERT_EQ(message.text(), std::to_string(i)) << "rank " << message.rank();
    message.done();
  }
  // All messages lie in the lanes before the first is taken.
  ASSERT_TRUE(board<OrderBoard>().sent.await(1, patience()));
  troupe().start("both_lanes", 1);
  ASSERT_TRUE(board<OrderBoard>().sent.await(2, patience()));
  EXPECT_FALSE(agent->receive({.timeout = 1ms, .filter = kNobody}));
  ASSERT_NO_FATAL_FAILURE(await_queued(*agent, 20));
  EXPECT_EQ(take_texts(*agent), numbers_below(20));
  troupe().wait_all(patience());
}

TEST_P(FlowOrder, C_03_AFifoInboxDeliversInTheOrderOfSendsOfAllSenders) {
  auto agent = attach(fifo());
  ASSERT_TRUE(agent);
  for (const std::uint32_t sender : {1U, 2U}) {
    troupe().start("both_lanes", sender);
    ASSERT_NO_FATAL_FAILURE(await_queued(*agent, 20 * sender));
  }
  // A message that was put back has its old place.
  next_message(*agent).requeue();
  const std::vector<std::string> of_each = numbers_below(20);
  std::vector<std::string> expected = of_each;
  expected.insert(expected.end(), of_each.begin(), of_each.end());
  EXPECT_EQ(take_texts(*agent), expected);
  troupe().wait_all(patience());
}

constexpr std::uint32_t kTalkers = 2;
constexpr std::uint32_t kWords = 6;

// Each agent sends a number in its turn, more than a tick of the clock after the other one. Its own
// number also tells the round.
BEELINE_ROLE(in_turn) {
  auto& board = context.board<OrderBoard>();
  const std::uint32_t mine = context.number % kTalkers;
  const std::uint32_t said_before = context.number / kTalkers * (kWords + 1);
  auto agent = attach("in-turn-" + std::to_string(mine), "receiver");
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "receiver");
  board.attached.raise();
  for (std::uint32_t i = mine; i < kWords; i += kTalkers) {
    ASSERT_TRUE(board.go.await(said_before + i + 1, patience()));
    let_pass(10ms);
    ASSERT_TRUE(agent->send(to, std::to_string(i), {.type = "word"}));
    board.go.raise();
  }
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowOrder, C_03_EqualMessagesOfTwoSendersComeAsTheyWereSentInEveryOrder) {
  struct Case {
    Order order;
    double factor;
    Filter filter;
  };
  auto& shared = board<OrderBoard>();
  std::uint32_t round = 0;
  for (const auto& [order, factor, filter] :
       {Case{Order::kAged, 0.1, {}}, Case{Order::kAged, 0, {}}, Case{Order::kStrict, 0, {}},
        Case{Order::kFifo, 0, {}},
        Case{Order::kStrict, 0, {.type = "word", .oldest_first = true}}}) {
    AttachOptions options = named("receiver");
    options.order = order;
    options.aging_factor = factor;
    auto agent = attach(options);
    ASSERT_TRUE(agent);
    std::vector<std::size_t> talkers;
    for (std::uint32_t i = 0; i < kTalkers; ++i) {
      talkers.push_back(troupe().start("in_turn", round * kTalkers + i));
    }
    ++round;
    ASSERT_TRUE(shared.attached.await(round * kTalkers, patience()));
    shared.go.raise();
    ASSERT_TRUE(shared.go.await(round * (kWords + 1), patience()));
    EXPECT_EQ(take_texts(*agent, filter), numbers_below(kWords))
        << "order " << static_cast<int>(order) << ", factor " << factor;
    for (const std::size_t talker : talkers) troupe().wait(talker, patience());
    EXPECT_EQ(agent->detach(), 0U);
  }
}

}  // namespace
}  // namespace beeline::test
