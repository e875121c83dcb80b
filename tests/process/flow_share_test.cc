// A peer that sends too much pushes out its own messages, not those of others.

#include <string>

#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct ShareBoard {
  Event sent;
};

class FlowShare : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowShare);

constexpr std::uint32_t kCapacity = 256;  // a quarter of it may lie aside
constexpr std::uint32_t kStash = kCapacity / 4;
constexpr std::uint32_t kReal = 10;

// Sends messages that claim to answer a question nobody asked.
void send_junk(const RoleContext& context, const std::string& name, std::uint32_t count) {
  auto agent = attach(name);
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "receiver");
  for (std::uint32_t i = 0; i < count; ++i) {
    ASSERT_TRUE(agent->send_until(to, name, patience(), {.type = kTaskResponse, .reply_to = 9}));
  }
  context.board<ShareBoard>().sent.raise();
  EXPECT_EQ(agent->detach(patience()), 0U);
}

BEELINE_ROLE(junk_of_one) { send_junk(context, "one", kStash + 30); }
BEELINE_ROLE(junk_of_another) { send_junk(context, "another", 6 * kCapacity); }

BEELINE_ROLE(honest) {
  auto agent = attach("honest");
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "receiver");
  for (std::uint32_t i = 0; i < kReal; ++i) {
    ASSERT_TRUE(agent->send_until(to, std::to_string(i), patience(), {.type = "job"}));
  }
  EXPECT_EQ(agent->detach(patience()), 0U);
}

struct Shares {
  std::size_t real = 0;
  std::size_t one = 0;
  std::size_t another = 0;
};

Shares dead_letters(Agent& agent) {
  Shares shares;
  for (const InboxItem& item : agent.inbox()) {
    if (!item.dead) continue;
    if (item.type == "job") ++shares.real;
    if (item.preview == "one") ++shares.one;
    if (item.preview == "another") ++shares.another;
  }
  return shares;
}

void drain(Agent& agent, std::uint64_t count) {
  while (agent.counters().drained < count) {
    EXPECT_FALSE(agent.receive({.timeout = 1ms, .filter = {.type = "none"}}));
  }
}

TEST_P(FlowShare, HK_060_AnswersThatNobodyAskedForPushOutTheirOwnKindAlone) {
  AttachOptions options = named("receiver");
  options.inbox_capacity = kCapacity;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  troupe().start("honest");
  for (std::uint32_t i = 0; i < kReal; ++i) {
    Message job = next_message(*agent);
    ASSERT_TRUE(job.valid());
    job.reject();
  }
  troupe().start("junk_of_one");
  std::uint64_t all = kReal + kStash + 30;
  drain(*agent, all);
  Shares shares = dead_letters(*agent);
  EXPECT_EQ(shares.real, kReal);
  EXPECT_EQ(shares.one, 30U) << "what the stash has no room for";

  troupe().start("junk_of_another");
  all += 6 * kCapacity;
  drain(*agent, all);
  shares = dead_letters(*agent);
  EXPECT_EQ(shares.real, kReal) << "junk never pushes out what was rejected";
  EXPECT_EQ(shares.one, 27U) << "half of the room that is left";
  EXPECT_EQ(shares.another, 27U);
  std::size_t kept_of_one = 0;
  for (const Message& result : agent->drain_pending_results())
    kept_of_one += result.text() == "one";
  EXPECT_EQ(kept_of_one, kStash / 2) << "and half of the stash";
  troupe().wait_all(patience());
  expect_balance(*agent);
}

// Rejected letters of one sender: the first letters of the other one stay.
BEELINE_ROLE(prolific) {
  auto agent = attach("prolific");
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "receiver");
  for (std::uint32_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(agent->send_until(to, "x", patience(), {.type = "another job"}));
  }
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowShare, TheSenderWithTheMostDeadLettersLosesTheOldestOfThem) {
  auto agent = attach("receiver");
  ASSERT_TRUE(agent);
  troupe().start("honest");
  for (std::uint32_t i = 0; i < kReal; ++i) next_message(*agent).reject();
  troupe().start("prolific");
  for (std::uint32_t i = 0; i < 100; ++i) next_message(*agent).reject();
  EXPECT_EQ(dead_letters(*agent).real, kReal);
  EXPECT_EQ(agent->counters().dead, 64U);
  troupe().wait_all(patience());
  expect_balance(*agent);
}

}  // namespace
}  // namespace beeline::test
