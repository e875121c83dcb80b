// kill -9 of agents and of the coordinator at random under load: no accepted message is lost, none
// comes twice unmarked, nothing is left behind.
//
// BEELINE_SOAK=1 kills twenty times as often.

#include <cstdio>
#include <string>

#include "tests/fault/fault_test.h"
#include "tests/fault/holdings.h"
#include "tests/fault/kill_board.h"

namespace beeline::test {
namespace {

class KillTest : public FaultTest {
 protected:
  void SetUp() override {
    start_faults("kill_test", is_soak() ? 3600s : 400s, sizeof(KillBoard));
    if (!HasFatalFailure()) board().seed = seed();
  }
  Ledger& ledger() override { return board().ledger; }
  bool visitors_return() const override { return memory_.as<KillBoard>().stop_sending.load() == 0; }

  KillBoard& board() { return memory_.as<KillBoard>(); }

  // The whole test: load and kills; then no message may be missing, and nothing may be left.
  void play(const Cast& cast, int kills) {
    board().cast = cast;
    for (std::uint32_t i = 0; i < cast.players; ++i) troupe().start("player", i);
    for (std::uint32_t i = 0; i < cast.visitors; ++i) troupe().start("visitor", cast.players + i);
    for (int killed = 0; killed < kills && !HasFailure();) {
      board().allowance.store(kMaxSequences * (killed + 1) / kills);
      ASSERT_NO_FATAL_FAILURE(attend(next_pause(), false));
      if (kill_one()) ++killed;
      expect_no_fault();
    }
    board().stop_sending.store(1);
    ASSERT_NO_FATAL_FAILURE(attend_until([&] { return board().quiet.count() == cast.players; }));
    ASSERT_NO_FATAL_FAILURE(await_all_finished());
    // The messages of visitors are read, so only their names may be left.
    ASSERT_NO_FATAL_FAILURE(
        attend_until([&] { return hive().status().links <= most_links(cast); }));
    board().stop_receiving.store(1);
    ASSERT_NO_FATAL_FAILURE(await_ends());
    expect_no_fault();
    expect_nothing_left(cast);
    std::printf(
        "kill_test: %d kills (%d of coordinators), %d joins failed, %d visits, %llu accepted, "
        "%llu redelivered\n",
        kills, coordinators(), failed_joins(), visits(),
        static_cast<unsigned long long>(board().ledger.accepted()),
        static_cast<unsigned long long>(board().ledger.received_again()));
  }

 private:
  // Mostly under load, sometimes while the last victim's successor is just joining.
  std::chrono::nanoseconds next_pause() {
    const std::int64_t longest[] = {5'000'000, 60'000'000, 100'000'000, 300'000'000};
    return std::chrono::nanoseconds(random()() % longest[random()() % 4]);
  }

  // False if the victim is not there now.
  bool kill_one() {
    if (random()() % 5 == 0) return kill_coordinator();
    return kill_player(random()() % troupe().size());
  }

  // Each player remembers one life of every other, with its links.
  static std::size_t most_links(const Cast& cast) {
    return std::size_t{cast.players} * cast.players;
  }

  void expect_nothing_left(const Cast& cast) {
    const auto status = hive().status();
    EXPECT_EQ(status.running, 1U);
    EXPECT_EQ(status.away, cast.players);
    EXPECT_EQ(status.quarantined_links, 0U);
    EXPECT_LE(status.links, most_links(cast)) << "links of dead lives are left";
    const std::size_t most_fds = 50 + 4 * cast.players + most_links(cast);
    EXPECT_LE(holdings_of(hive().keeper()).fds, most_fds);
    EXPECT_LE(holdings_of(hive().coordinator()).fds, most_fds);
  }
};

TEST_F(KillTest, SendersReceiversAndCoordinatorsLoseNoAcceptedMessage) {
  play({.players = 7, .visitors = 2, .senders = 4, .first_receiver = 4}, is_soak() ? 3000 : 150);
}

TEST_F(KillTest, PeersThatAllSendToEachOtherLoseNoAcceptedMessage) {
  play({.players = 5, .visitors = 1, .senders = 5, .first_receiver = 0}, is_soak() ? 2000 : 100);
}

}  // namespace
}  // namespace beeline::test
