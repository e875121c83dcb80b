// An inbox hands out the best of all messages that were accepted when the call began, from any
// number of senders. It reports none only after a look at all senders.

#include <array>
#include <string>
#include <vector>

#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct BestBoard {
  Event go;
  Event sent;
  Event leave;
};

class FlowBest : public HiveTest {
 protected:
  // The receiver, which knows a crowd of senders and has emptied its inbox.
  std::optional<Agent> meet(std::uint32_t crowd) {
    auto agent = attach("receiver");
    if (!agent) return agent;
    troupe().start("crowd", crowd);
    for (std::uint32_t i = 0; i < crowd; ++i) next_message(*agent).done();
    return agent;
  }
  // The crowd sends again as its role says.
  void let_send() {
    auto& shared = board<BestBoard>();
    shared.go.raise();
    ASSERT_TRUE(shared.sent.await(++rounds_, patience()));
  }
  void dismiss() {
    board<BestBoard>().leave.raise();
    board<BestBoard>().go.raise();
    troupe().wait_all(patience());
  }
  void expect_the_highest_first(std::uint32_t crowd) {
    auto agent = meet(crowd);
    ASSERT_TRUE(agent);
    ASSERT_NO_FATAL_FAILURE(let_send());
    auto first = agent->try_receive();
    ASSERT_TRUE(first);
    EXPECT_EQ(first->text(), "high");
    // While the handler works another message comes; this time the inbox holds the others.
    ASSERT_NO_FATAL_FAILURE(let_send());
    let_pass(5ms);
    first->done();
    EXPECT_EQ(next_message(*agent).text(), "high");  // put back, and taken once more
    EXPECT_EQ(take_texts(*agent).size(), crowd + 1);
    dismiss();
  }
  // A sender with a long lane sends this many messages of low rank, and then one of high rank.
  void expect_the_highest_before(std::uint32_t low, std::uint32_t inbox_capacity) {
    AttachOptions options = named("receiver");
    options.inbox_capacity = inbox_capacity;
    auto agent = attach(options);
    ASSERT_TRUE(agent);
    troupe().start("filler", low);
    next_message(*agent).done();
    ASSERT_NO_FATAL_FAILURE(let_send());
    const auto texts = take_texts(*agent);
    ASSERT_EQ(texts.size(), low + 1);
    EXPECT_EQ(texts.front(), "high");
    troupe().wait_all(patience());
  }
  std::uint32_t rounds_ = 0;
};
BEELINE_BOTH_WORLDS(FlowBest);

// The member that speaks in this round.
std::size_t speaker(std::uint32_t round, std::size_t crowd) { return round * 37 % crowd; }

// Many senders in one process. In even rounds each sends one message of low rank, and then one of
// them sends one of high rank. In odd rounds one of them sends alone.
BEELINE_ROLE(crowd) {
  auto& board = context.board<BestBoard>();
  std::vector<Agent> crowd;
  std::vector<Peer> peers;
  for (std::uint32_t i = 0; i < context.number; ++i) {
    AttachOptions options = named("", "receiver");
    options.temporary = true;
    auto agent = attach(options);
    ASSERT_TRUE(agent);
    crowd.push_back(std::move(*agent));
    peers.push_back(peer_of(crowd.back(), "receiver"));
    ASSERT_TRUE(crowd.back().send(peers.back(), "hello"));
  }
  for (std::uint32_t round = 0;; ++round) {
    ASSERT_TRUE(board.go.await(round + 1, patience()));
    if (board.leave.count() != 0) return;
    for (std::size_t i = 0; i < crowd.size() && round % 2 == 0; ++i) {
      ASSERT_TRUE(crowd[i].send(peers[i], "low", {.rank = kLow}));
    }
    const std::size_t one = speaker(round, crowd.size());
    ASSERT_TRUE(crowd[one].send(peers[one], "high", {.rank = kHigh}));
    board.sent.raise();
  }
}

TEST_P(FlowBest, TheHighestOf64SendersComesFirst) { expect_the_highest_first(64); }
TEST_P(FlowBest, TheHighestOf300SendersComesFirst) { expect_the_highest_first(300); }

TEST_P(FlowBest, NothingIsSaidAfterALookAtAllSendersAlone) {
  constexpr std::uint32_t kCrowd = 300;
  auto agent = meet(kCrowd);
  ASSERT_TRUE(agent);
  ASSERT_NO_FATAL_FAILURE(let_send());
  EXPECT_EQ(take_texts(*agent).size(), kCrowd + 1);
  std::array<Message, 4> batch;
  for (int i = 0; i < 4; ++i) {
    ASSERT_NO_FATAL_FAILURE(let_send());
    const Filter filter{.oldest_first = i % 2 != 0};
    std::optional<Message> found;
    if (i < 2) {
      found = agent->try_receive(filter);
    } else if (agent->try_receive_batch(batch, filter) != 0) {
      found = std::move(batch.front());
    }
    ASSERT_TRUE(found) << i;
    EXPECT_EQ(found->text(), "high");
    found->done();
    // Takes the messages of the even rounds in between.
    ASSERT_NO_FATAL_FAILURE(let_send());
    EXPECT_EQ(take_texts(*agent).size(), kCrowd + 1) << "no call says nothing before";
  }
  dismiss();
}

// ---- Full lanes ---------------------------------------------------------------------------------

BEELINE_ROLE(filler) {
  auto& board = context.board<BestBoard>();
  AttachOptions options = named("filler", "receiver");
  options.normal_slots = 2048;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "receiver");
  ASSERT_TRUE(agent->send(to, "hello"));
  ASSERT_TRUE(board.go.await(1, patience()));
  for (std::uint32_t i = 0; i < context.number; ++i) {
    ASSERT_TRUE(agent->send(to, "low", {.rank = kLow}));
  }
  ASSERT_TRUE(agent->send(to, "high", {.rank = kHigh}));
  board.sent.raise();
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowBest, TheHighestComesFirstThoughAHundredLieBeforeItAndTheInboxIsSmall) {
  expect_the_highest_before(100, 1024);
}
TEST_P(FlowBest, TheHighestComesFirstThoughALongLaneIsFullBeforeIt) {
  expect_the_highest_before(2000, 4096);
}

}  // namespace
}  // namespace beeline::test
