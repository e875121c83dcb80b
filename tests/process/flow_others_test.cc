// The inbox of another agent, listed by a program that is no part of it: while the agent works,
// after it was killed, and where segments are broken.

#include <string>
#include <vector>

#include <beeline/inbox.h>

#include "src/os/clock.h"
#include "tests/support/hive_test.h"
#include "tests/support/written_over.h"

namespace beeline::test {
namespace {

struct OthersBoard {
  Event attached;
  Event filled;
  Event ready;  // the holder has what it is to hold
  Event over;
};

class FlowOthers : public HiveTest {
 protected:
  // The words for places and payloads, in the order of the list.
  static std::vector<std::string> places(const SeenInbox& inbox) {
    std::vector<std::string> found;
    for (const SeenMessage& message : inbox.messages) {
      found.push_back(std::string(to_string(message.place)) + " " + message.preview);
    }
    return found;
  }
};
INSTANTIATE_TEST_SUITE_P(As, FlowOthers, testing::Values(World::kProcesses), world_name);

using Lines = std::vector<std::string>;

// Attaches, holds one message, has rejected one, and leaves the others where they lie.
BEELINE_ROLE(holder_of_all) {
  auto& board = context.board<OthersBoard>();
  auto agent = attach("holder");
  ASSERT_TRUE(agent);
  board.attached.raise();
  ASSERT_TRUE(board.filled.await(1, patience()));
  await_drained(*agent, 4);
  next_message(*agent, {.type = "bad"}).reject();
  const Message held = next_message(*agent, {.type = "held"});
  ASSERT_TRUE(held.valid());
  board.ready.raise();
  EXPECT_TRUE(board.over.await(1, patience()));
}

TEST_P(FlowOthers, AnInboxIsListedWhileItsAgentWorksAndAfterItWasKilled) {
  auto& shared = board<OthersBoard>();
  const std::size_t holder = troupe().start("holder_of_all");
  auto sender = attach("sender");
  ASSERT_TRUE(sender);
  const Peer to = peer_of(*sender, "holder");
  const std::string large(100'000, 'x');
  const auto sent = sender->send(to, "low", {.rank = kLow});
  ASSERT_TRUE(sent);
  ASSERT_TRUE(sender->send(to, large, {.type = "large", .channel = "deep"}));
  ASSERT_TRUE(sender->send(to, "one", {.type = "held"}));
  ASSERT_TRUE(sender->send(to, "two", {.type = "bad"}));
  shared.filled.raise();
  ASSERT_TRUE(shared.ready.await(1, patience()));
  SendOptions full;
  full.reply_to = sent.id;
  full.cause = sent.id;
  full.hops = 3;
  full.ttl_ms = 1'000'000;
  full.requires_ack = true;
  full.type = "last";
  ASSERT_TRUE(sender->send(to, "three", full));

  for (const bool is_killed : {false, true}) {
    SCOPED_TRACE(is_killed);
    if (is_killed) troupe().kill(holder);
    const auto inbox = look_into_inbox("holder");
    ASSERT_TRUE(inbox) << inbox.error().text;
    EXPECT_EQ(inbox->pid, to.pid);
    EXPECT_EQ(inbox->name, "holder");
    EXPECT_EQ(inbox->length, 3U);
    EXPECT_EQ(inbox->damaged_links, 0U);
    // By relation a sibling's low counts as normal.
    EXPECT_EQ(places(*inbox), (Lines{"queued low", "queued " + large.substr(0, 64), "lane three",
                                     "leased one", "dead two"}));
    const SeenMessage& in_slab = inbox->messages.at(1);
    EXPECT_EQ(in_slab.type, "large");
    EXPECT_EQ(in_slab.channel, "deep");
    EXPECT_EQ(in_slab.length, large.size());
    const SeenMessage& last = inbox->messages.at(2);
    EXPECT_EQ(last.from, sender->pid());
    EXPECT_EQ(last.from_name, "sender");
    EXPECT_EQ(last.type, "last");
    EXPECT_EQ(last.reply_to, sent.id);
    EXPECT_EQ(last.cause, sent.id);
    EXPECT_EQ(last.hops, 3U);
    EXPECT_EQ(last.ttl_ms, 1'000'000U);
    EXPECT_TRUE(last.requires_ack);
    EXPECT_TRUE(last.reason.empty());
    EXPECT_LE(last.sent_ns, os::monotonic_ns());
    EXPECT_GT(last.sent_ns, os::monotonic_ns() - 300'000'000'000);
    EXPECT_TRUE(inbox->messages.at(3).leased);
    EXPECT_TRUE(inbox->messages.at(4).dead);
    EXPECT_EQ(inbox->messages.at(4).reason, "rejected");
    // By pid it is the same one.
    const auto by_pid = look_into_inbox(std::to_string(to.pid), {.hive = hive().name()});
    ASSERT_TRUE(by_pid) << by_pid.error().text;
    EXPECT_EQ(places(*by_pid), places(*inbox));
  }
  // Looks took nothing.
  auto heir = attach("holder");
  ASSERT_TRUE(heir);
  await_queued(*heir, 4);
  EXPECT_EQ(take_texts(*heir).size(), 4U);
  EXPECT_EQ(look_into_inbox("holder")->length, 0U);
}

TEST_P(FlowOthers, AMessageThatHasExpiredDoesNotCount) {
  auto sender = attach("sender");
  auto away = attach("away");
  ASSERT_TRUE(sender && away);
  const Peer to = peer_of(*sender, "away");
  away.reset();
  ASSERT_TRUE(sender->send(to, "short", {.ttl_ms = 1}));
  ASSERT_TRUE(sender->send(to, "long"));
  let_pass(5ms);
  const auto inbox = look_into_inbox("away");
  ASSERT_TRUE(inbox) << inbox.error().text;
  EXPECT_EQ(inbox->messages.size(), 2U);
  EXPECT_EQ(inbox->length, 1U);
  EXPECT_EQ(inbox->messages.at(0).reason, "expired");
}

TEST_P(FlowOthers, AnInboxThatIsNotThereIsAnErrorWithItsReason) {
  const auto unknown = look_into_inbox("nobody");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kNoAgent);
  AttachOptions mayfly = named("mayfly");
  mayfly.temporary = true;
  auto agent = attach(mayfly);
  ASSERT_TRUE(agent);
  const Pid pid = agent->pid();
  EXPECT_EQ(look_into_inbox("mayfly")->length, 0U);
  agent.reset();
  const auto ended = look_into_inbox(std::to_string(pid));
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::kNoAgent) << ended.error().text;
  const auto foreign = look_into_inbox("nobody", {.hive = "no/hive"});
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().code, ErrorCode::kInvalid) << foreign.error().text;
  const auto other_hive = look_into_inbox("nobody", {.hive = "another"});
  ASSERT_FALSE(other_hive);
}

// ---- Broken segments ------------------------------------------------------------------------

TEST_P(FlowOthers, AnOwnerThatWritesOverItsLinkHidesItsOwnMessagesAlone) {
  auto victim = attach("victim");
  auto good = attach("good");
  auto bad = attach("bad");
  ASSERT_TRUE(victim && good && bad);
  ASSERT_TRUE(good->send("victim", "mine"));
  ASSERT_TRUE(bad->send("victim", "theirs"));
  EXPECT_EQ(look_into_inbox("victim")->length, 2U);
  const WrittenOver broken(hive().name(), shm::SegmentKind::kLink, bad->pid());
  const auto inbox = look_into_inbox("victim");
  ASSERT_TRUE(inbox) << inbox.error().text;
  EXPECT_EQ(places(*inbox), Lines{"lane mine"});
  EXPECT_EQ(inbox->length, 1U);
  EXPECT_EQ(inbox->damaged_links, 1U);
}

TEST_P(FlowOthers, ADamagedInboxIsAnErrorThatSaysSo) {
  auto victim = attach("victim");
  ASSERT_TRUE(victim);
  ASSERT_TRUE(victim->send("victim", "to myself"));
  EXPECT_EQ(look_into_inbox("victim")->length, 1U);
  const WrittenOver broken(hive().name(), shm::SegmentKind::kHome, victim->pid());
  const auto inbox = look_into_inbox("victim");
  ASSERT_FALSE(inbox);
  EXPECT_EQ(inbox.error().code, ErrorCode::kBadSegment) << inbox.error().text;
}

}  // namespace
}  // namespace beeline::test
