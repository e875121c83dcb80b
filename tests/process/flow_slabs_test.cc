// Messages that are kept or not taken leave their sender free slabs.

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct SlabBoard {
  Event attached;
  Event held;
  Event cancelled;
};

class FlowSlabs : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowSlabs);

const std::string kMebibyte(1U << 20, 'x');  // 8 slabs of its class
const std::string kMedium(200, 'y');         // 128
constexpr int kMany = 400;

// Rejects every message that is no question, and answers each question at length.
BEELINE_ROLE(severe) {
  auto& board = context.board<SlabBoard>();
  auto agent = attach("severe");
  ASSERT_TRUE(agent);
  board.attached.raise();
  const Peer boss = peer_of(*agent, "boss");
  const auto handle = [&](Message& message) -> Ack {
    if (message.text() == "stop") agent->stop_serving();
    if (message.payload().size() == kMebibyte.size()) return {AckStatus::kRejected, {}};
    if (message.text() == "acknowledge") return {AckStatus::kAccepted, kMedium};
    if (message.text() == "answer") {
      EXPECT_TRUE(agent->reply_until(message, kMedium, patience()));
    }
    return {};
  };
  EXPECT_TRUE(agent->serve(handle));
  EXPECT_LE(agent->counters().dead, 5U) << "half of the slabs of its class and of the next";
  // An ordinary message still finds a slab.
  EXPECT_TRUE(agent->send_until(boss, kMedium, patience()));
  (void)agent->detach();  // the boss does not care for all of them
}

TEST_P(FlowSlabs, DeadLettersLeaveTheirSenderHalfOfItsSlabs) {
  auto& shared = board<SlabBoard>();
  auto agent = attach("boss");
  ASSERT_TRUE(agent);
  troupe().start("severe");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  const Peer severe = peer_of(*agent, "severe");
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(agent->send_until(severe, kMebibyte, patience())) << i;
  }
  ASSERT_TRUE(agent->send(severe, "stop"));
  Message last = next_message(*agent);
  ASSERT_TRUE(last.valid());
  last.done();
  troupe().wait_all(patience());
}

TEST_P(FlowSlabs, AcknowledgementsThatNobodyFetchesLeaveRoomAndAnswersAreKept) {
  auto& shared = board<SlabBoard>();
  auto agent = attach("boss");
  ASSERT_TRUE(agent);
  troupe().start("severe");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  const Peer severe = peer_of(*agent, "severe");
  for (int i = 0; i < kMany; ++i) {
    ASSERT_TRUE(agent->send_until(severe, "acknowledge", patience(), {.requires_ack = true})) << i;
    if (i % 5 != 0) continue;
    while (!agent->fire_and_forget(severe, "answer")) drain_until(*agent, [] { return true; });
  }
  ASSERT_TRUE(agent->send_until(severe, "stop", patience()));
  Message last = next_message(*agent);
  ASSERT_TRUE(last.valid());
  EXPECT_EQ(last.text(), kMedium);
  last.done();
  EXPECT_EQ(agent->drain_pending_results().size(), kMany / 5U);
  troupe().wait_all(patience());
}

// ---- After a take-over --------------------------------------------------------------------------

class FlowSurplus : public HiveTest {};
INSTANTIATE_TEST_SUITE_P(As, FlowSurplus, testing::Values(World::kProcesses), world_name);

constexpr std::uint32_t kLetters = 64;
constexpr std::uint32_t kHeld = 10;

// Has as many letters as it may have, and holds more messages that were cancelled.
BEELINE_ROLE(doomed) {
  auto& board = context.board<SlabBoard>();
  auto agent = attach("doomed");
  ASSERT_TRUE(agent);
  board.attached.raise();
  std::vector<Message> held;
  for (std::uint32_t i = 0; i < kLetters + kHeld; ++i) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    if (i < kLetters) {
      message.reject();
    } else {
      held.push_back(std::move(message));
    }
  }
  board.held.raise();
  const Deadline deadline = patience();
  for (Message& message : held) {
    while (!message.cancelled() && std::chrono::steady_clock::now() < deadline) {
    }
  }
  board.cancelled.raise();
  (void)agent->receive({.timeout = kPatience});  // until it is killed
}

TEST_P(FlowSurplus, ASuccessorKeepsTheNewestLetters) {
  auto& shared = board<SlabBoard>();
  auto agent = attach("boss");
  ASSERT_TRUE(agent);
  const std::size_t victim = troupe().start("doomed");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  const Peer doomed = peer_of(*agent, "doomed");
  std::vector<MessageId> ids;
  for (std::uint32_t i = 0; i < kLetters + kHeld; ++i) {
    const SendResult sent = agent->send_until(doomed, "x", patience());
    ASSERT_TRUE(sent);
    ids.push_back(sent.id);
  }
  ASSERT_TRUE(shared.held.await(1, patience()));
  for (std::uint32_t i = kLetters; i < kLetters + kHeld; ++i) {
    while (!agent->cancel(doomed, ids[i])) drain_until(*agent, [] { return true; });
  }
  ASSERT_TRUE(shared.cancelled.await(1, patience()));
  troupe().kill(victim);
  auto next = attach("doomed");
  ASSERT_TRUE(next);
  EXPECT_EQ(next->counters().dead, kLetters);
  std::vector<MessageId> kept;
  for (const InboxItem& item : next->inbox()) kept.push_back(item.id);
  std::sort(kept.begin(), kept.end());
  EXPECT_EQ(kept, std::vector<MessageId>(ids.begin() + kHeld, ids.end()));
  ASSERT_TRUE(agent->send(doomed, "one more"));
  Message more = next_message(*next);
  ASSERT_TRUE(more.valid());
  const MessageId newest = more.id();
  more.reject();
  EXPECT_EQ(next->counters().dead, kLetters);
  const auto items = next->inbox();
  EXPECT_TRUE(std::any_of(items.begin(), items.end(),
                          [newest](const InboxItem& item) { return item.id == newest; }));
}

}  // namespace
}  // namespace beeline::test
