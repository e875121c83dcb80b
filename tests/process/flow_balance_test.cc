// The place of every accepted message, counted from outside.

#include <string>

#include "tests/support/hive_test.h"
#include "tools/beeline/accounts.h"

namespace beeline::test {
namespace {

struct BalanceBoard {
  Event ready;
  Event go;
};

class FlowBalance : public HiveTest {
 protected:
  cli::Account account_of(Pid pid) {
    auto client = hive().client();
    const auto accounts = cli::read_accounts(client, hive().name());
    EXPECT_TRUE(accounts) << accounts.error().text;
    const cli::Account* found = accounts ? accounts->find(pid) : nullptr;
    EXPECT_NE(found, nullptr) << "no inbox of agent " << pid;
    return found == nullptr ? cli::Account() : *found;
  }
};
BEELINE_BOTH_WORLDS(FlowBalance);

constexpr std::uint32_t kDone = 3;
constexpr std::uint32_t kHeld = 2;
constexpr std::uint32_t kRejected = 66;  // two more than an agent keeps
constexpr std::uint32_t kQueued = 4;
constexpr std::uint32_t kInLanes = 5;

// Has messages in every place, waits, and ends without a word.
BEELINE_ROLE(hoarder) {
  auto& board = context.board<BalanceBoard>();
  auto agent = attach("hoarder");
  ASSERT_TRUE(agent);
  for (std::uint32_t i = 0; i < kDone; ++i) next_message(*agent).done();
  for (std::uint32_t i = 0; i < kRejected; ++i) next_message(*agent).reject();
  Message held[kHeld];
  for (Message& each : held) each = next_message(*agent);
  ASSERT_NO_FATAL_FAILURE(await_queued(*agent, kQueued));
  board.ready.raise();
  EXPECT_TRUE(board.go.await(1, patience()));
}

void expect_hoard(const cli::Account& account, std::uint32_t in_lanes, std::uint32_t leased) {
  EXPECT_TRUE(account.balanced());
  EXPECT_FALSE(account.moving);
  EXPECT_EQ(account.accepted, kDone + kRejected + kHeld + kQueued + in_lanes);
  EXPECT_EQ(account.in_lanes, in_lanes);
  EXPECT_EQ(account.queued, kQueued + kHeld - leased);
  EXPECT_EQ(account.leased, leased);
  EXPECT_EQ(account.done, kDone);
  EXPECT_EQ(account.dead, 64U);
  EXPECT_EQ(account.purged, 2U);
}

TEST_P(FlowBalance, ABalanceTellsWhereEachAcceptedMessageIs) {
  auto& shared = board<BalanceBoard>();
  auto sender = attach("sender");
  auto second = attach("second");
  ASSERT_TRUE(sender && second);
  const std::size_t place = troupe().start("hoarder");
  const Peer hoarder = peer_of(*sender, "hoarder");
  constexpr std::uint32_t kFirst = kDone + kRejected + kHeld + kQueued;
  for (std::uint32_t i = 0; i < kFirst; ++i) {
    // Some payloads need slabs, because a stamp ends those.
    const std::string text(i % 2 == 0 ? 10 : 1000, 'x');
    ASSERT_TRUE(sender->send_until(hoarder, text, patience()));
  }
  ASSERT_TRUE(shared.ready.await(1, patience()));
  expect_hoard(account_of(hoarder.pid), 0, kHeld);
  for (std::uint32_t i = 0; i < kInLanes; ++i) {
    Agent& from = i < 2 ? *sender : *second;  // the link of the second sender is new, and nobody
                                              // looks at it
    ASSERT_TRUE(from.send(from.peer("hoarder").value(), "x", {.rank = i == 0 ? kCritical : kLow}));
  }
  expect_hoard(account_of(hoarder.pid), kInLanes, kHeld);

  const bool killed = GetParam() == World::kProcesses;
  kill_or_release(place, shared.go);
  // An agent that leaves gives back its messages; a killed one cannot.
  expect_hoard(account_of(hoarder.pid), kInLanes, killed ? kHeld : 0);
  // A link that fades does not change the account: its row is retired.
  second.reset();
  auto heir = attach("hoarder");
  ASSERT_TRUE(heir);
  for (std::uint32_t i = 0; i < kInLanes + kQueued + kHeld; ++i) next_message(*heir).done();
  const auto look = [&] { EXPECT_FALSE(heir->receive({.timeout = 5ms})); };
  while (hive().client().links_to(heir->pid())->size() > 1) look();
  look();  // and the successor is told that the link has faded
  const cli::Account last = account_of(heir->pid());
  EXPECT_TRUE(last.balanced());
  EXPECT_EQ(last.accepted, kFirst + kInLanes);
  EXPECT_EQ(last.done, kFirst + kInLanes - kRejected);
}

TEST_P(FlowBalance, AnAccountThatDoesNotAddUpIsSeen) {
  auto agent = attach("self");
  ASSERT_TRUE(agent);
  ASSERT_TRUE(agent->send(agent->peer("self").value(), "x"));
  cli::Account account = account_of(agent->pid());
  ASSERT_EQ(account.accepted, 1U);
  ASSERT_TRUE(account.balanced());
  ++account.done;
  EXPECT_FALSE(account.balanced());
}

}  // namespace
}  // namespace beeline::test
