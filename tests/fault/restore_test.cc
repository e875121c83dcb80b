// A new coordinator restores the keeper's table after the old one was killed between two records
// that belong together.

#include <utility>
#include <vector>

#include "shm/home.h"
#include "src/control/death.h"
#include "src/os/clock.h"
#include "tests/fault/restore_fixture.h"

namespace beeline::control {
namespace {

// The packet with its descriptors did not arrive whole; later packets about it did. Its process
// resumes and shows its segments again.
TEST_F(RestoreTest, ALifeWasNotReadyIfTheKeeperHasNotReceivedItsHome) {
  keep_living(5, 10);
  LifeRecord next = life_of(5, 20);
  next.ended = false;
  keep(next).fds.resize(1);
  LifeRecord alone = life_of(6, 30);
  alone.ended = false;
  keep(alone).fds.resize(1);
  restore_hive();
  const Agent& agent = *hive_->registry.agent(5);
  ASSERT_NE(agent.current, nullptr);
  EXPECT_EQ(agent.current->incarnation, shm::Incarnation(10))
      << "a successor is shown the home of life 20";
  ASSERT_NE(agent.successor, nullptr);
  EXPECT_EQ(agent.successor->incarnation, shm::Incarnation(20));
  EXPECT_FALSE(agent.successor->ready);
  EXPECT_EQ(hive_->registry.agent(6)->current, nullptr);
}

// Only the packet about its end has arrived.
TEST_F(RestoreTest, ALinkIsReadThoughTheKeeperHasNotGotItsOwner) {
  keep_life(5, 10);
  table_.at(agent_key(5, shm::Incarnation(10))).fds.clear();
  keep_living(6, 30);
  keep_link({shm::Incarnation(10), 1}, 5, 6, false);
  restore_hive();
  EXPECT_TRUE(has_link({shm::Incarnation(10), 1})) << "what was sent in it is lost";
  EXPECT_EQ(hive_->registry.agent(5)->current, nullptr) << "a successor is shown no home";
}

// One agent has lost its connection, which ended with the last coordinator. The other one has not,
// and may resume at any time.
TEST_F(RestoreTest, AnAgentThatHadLostItsConnectionResumesInTimeOrIsFenced) {
  for (const bool lost : {false, true}) {
    LifeRecord life = life_of(lost ? 5 : 6, lost ? 10 : 20);
    life.ended = false;
    life.lost = lost;
    keep(life);
  }
  restore_hive();
  constexpr std::int64_t kHour = 3'600'000'000'000;
  (void)end_overdue(*hive_, os::monotonic_ns() + kHour);
  EXPECT_NE(hive_->registry.agent(5)->living(), nullptr) << "nobody has listened to it for so long";
  hive_->hearing.listened_ns += kFenceNs;
  (void)end_overdue(*hive_, os::monotonic_ns());
  EXPECT_EQ(hive_->registry.agent(5)->living(), nullptr) << "its name is taken for ever";
  EXPECT_NE(hive_->registry.agent(6)->living(), nullptr);
}

// If nobody were waiting to be heard, half of that time would do.
TEST_F(RestoreTest, AnAgentThatMayBeWaitingToBeHeardIsFencedLater) {
  LifeRecord life = life_of(5, 10);
  life.ended = false;
  life.lost = true;
  keep(life);
  restore_hive();
  hive_->hearing.listened_ns += kFenceNs;
  hive_->hearing.all_heard = false;
  (void)end_overdue(*hive_, os::monotonic_ns());
  EXPECT_NE(hive_->registry.agent(5)->living(), nullptr);
  hive_->hearing.listened_ns += kFenceNs;
  (void)end_overdue(*hive_, os::monotonic_ns());
  EXPECT_EQ(hive_->registry.agent(5)->living(), nullptr) << "its name is taken for ever";
}

// It loses its connection as often as it likes.
TEST_F(RestoreTest, RepeatedLossOfAConnectionAddsNoRecordsWhileTheKeeperIsBehind) {
  keep_living(5, 10);
  keep_living(6, 20);
  restore_hive();
  const auto lose = [this](Pid pid, std::uint64_t incarnation, std::uint64_t session) {
    hive_->registry.agent(pid)->living()->session = session;
    lose_connection(*hive_, pid, shm::Incarnation(incarnation), session);
  };
  lose(6, 20, 1);
  EXPECT_EQ(said_to_keeper(kLost), 1U) << "the next coordinator would not know of it";
  while (hive_->keeper.is_settled()) hive_->keeper.note("filler", std::string(10'000, '.'));
  for (std::uint64_t session = 2; session < 100; ++session) lose(5, 10, session);
  EXPECT_EQ(hive_->fences.size(), 2U);
  hive_->note_agent(*hive_->registry.agent(5));  // of another change: nobody would take the loss
                                                 // back
  std::size_t said = said_to_keeper(kLost);
  while (!hive_->keeper.settle()) said += said_to_keeper(kLost);
  EXPECT_EQ(said + said_to_keeper(kLost), 0U);
}

TEST_F(RestoreTest, TheKeeperForgetsRecordsThatItDidNotReceiveWhole) {
  keep_life(5, 10);
  keep_life(6, 30);
  keep_link({shm::Incarnation(10), 1}, 5, 6, false);
  table_.at(link_key({shm::Incarnation(10), 1})).fds.clear();
  keep_living(7, 40);
  table_.at(agent_key(7, shm::Incarnation(40))).fds.clear();
  restore_hive();
  EXPECT_EQ(hive_->registry.agent(7), nullptr);
  EXPECT_TRUE(is_logged("event=restore_failed key=agent/7/40"));
  EXPECT_TRUE(is_logged("event=restore_failed key=link/10/1"));
  EXPECT_EQ(said_to_keeper(), 2U) << "each new coordinator would find them again";
}

// A client that asks for any links without end.
TEST_F(RestoreTest, NoMoreFadesWaitThanAHomeHasRows) {
  keep_living(5, 10);
  restore_hive();
  while (keeper_->is_settled()) keeper_->note("filler", std::string(10'000, '.'));
  Caller reader;
  reader.pid = 5;
  reader.incarnation = shm::Incarnation(10);
  FadeRequest request;
  request.incarnation = shm::Incarnation(7);
  for (request.serial = 1; request.serial <= shm::kMaxRows + 5; ++request.serial) {
    fade_link(*hive_, reader, request);
    fade_link(*hive_, reader, request);
  }
  ASSERT_EQ(hive_->fades.size(), 1U);
  EXPECT_EQ(hive_->fades.at(shm::Incarnation(10)).links.size(), shm::kMaxRows);
  EXPECT_TRUE(is_logged("event=fade_refused")) << "it is told of nothing";
}

// The keeper has heard that life 20 is ready, but not that nobody needs the links of life 10.
TEST_F(RestoreTest, FadedLinksOfALifeThatHasASuccessorAreDropped) {
  keep_life(5, 10);
  keep_life(5, 20);
  keep_life(6, 30);
  keep_link({shm::Incarnation(10), 1}, 5, 6, true);
  restore_hive();
  EXPECT_FALSE(has_link({shm::Incarnation(10), 1}))
      << "it stays with the keeper for as long as the hive lives";
}

TEST_F(RestoreTest, AFadedLinkStaysForTheSuccessorOfItsOwner) {
  keep_life(5, 20);
  keep_life(6, 30);
  keep_link({shm::Incarnation(20), 1}, 5, 6, true);
  restore_hive();
  EXPECT_TRUE(has_link({shm::Incarnation(20), 1})) << "the next life needs the receipts in it";
}

TEST_F(RestoreTest, ALinkToADeadAgentStaysWhileItsOwnerStillReadsFromThatAgent) {
  LifeRecord dead = life_of(5, 10);
  dead.temporary = true;
  dead.dead = true;
  dead.taken_over = true;
  keep(dead);
  keep_life(6, 30);
  keep_life(7, 40);
  keep_link({shm::Incarnation(10), 1}, 5, 6, false);
  keep_link({shm::Incarnation(30), 1}, 6, 5, false);
  keep_link({shm::Incarnation(40), 1}, 7, 5, false);
  restore_hive();
  EXPECT_TRUE(has_link({shm::Incarnation(30), 1})) << "the next life needs the receipts in it";
  EXPECT_FALSE(has_link({shm::Incarnation(40), 1})) << "its reader was killed before this was said";
}

TEST_F(RestoreTest, ALinkOfADeadAgentToItselfGoesWithTheAgent) {
  LifeRecord dead = life_of(5, 10);
  dead.temporary = true;
  dead.dead = true;
  keep(dead);
  keep_link({shm::Incarnation(10), 1}, 5, 5, false);
  restore_hive();
  finish_death(*hive_, 5);
  EXPECT_FALSE(has_link({shm::Incarnation(10), 1}));
}

// The last coordinator has recorded that both were taken over, and was killed before its next
// record.
TEST_F(RestoreTest, LinksBetweenTwoDeadAgentsGoWithThem) {
  for (const Pid pid : {5U, 6U}) {
    LifeRecord dead = life_of(pid, pid * 10);
    dead.temporary = true;
    dead.dead = true;
    dead.taken_over = true;
    keep(dead);
  }
  keep_link({shm::Incarnation(50), 1}, 5, 6, false);
  keep_link({shm::Incarnation(60), 1}, 6, 5, false);
  restore_hive();
  EXPECT_EQ(hive_->registry.link_count(), 0U) << "nobody is left to read them";
  EXPECT_EQ(hive_->tombstones.size(), 2U);
}

TEST_F(RestoreTest, APurgeOutlivesTheCoordinatorThatWasAskedForIt) {
  LifeRecord forgotten = life_of(5, 10);
  forgotten.dead = true;
  forgotten.purged = true;
  keep(forgotten);
  restore_hive();
  EXPECT_TRUE(hive_->registry.agent(5)->purged);
  EXPECT_EQ(hive_->takeovers.size(), 1U);
}

TEST_F(RestoreTest, TheResourcesOfEachUserAreKnownAgain) {
  for (const Pid pid : {5U, 6U}) {
    LifeRecord life = life_of(pid, pid * 10);
    life.uid = 1000;
    keep(life);
  }
  keep_life(7, 70);
  keep_link({shm::Incarnation(50), 1}, 5, 6, false);
  restore_hive();
  const Shares& shares = hive_->registry.shares();
  EXPECT_EQ(shares.held(1000, Resource::kPlaces), 2U);
  EXPECT_EQ(shares.held(1000, Resource::kDescriptors), 2 * kFdsOfAgent + 1);
  EXPECT_EQ(hive_->registry.count_to(6, 1000), 1U);
  EXPECT_EQ(shares.used(Resource::kPlaces), 3U);
}

TEST_F(RestoreTest, LettersAreCountedThoughTheLastCoordinatorOnlyRecordedTheirReceiver) {
  LifeRecord dead = life_of(5, 10);
  dead.temporary = true;
  dead.dead = true;
  dead.taken_over = true;
  dead.letters_then = 7;
  keep(dead);
  table_[std::string(kDeadLettersKey)].value = build_number(4);
  restore_hive();
  EXPECT_EQ(hive_->dead_letters.total(), 7U);
  EXPECT_NE(said_to_keeper(), 0U) << "once that agent is forgotten only the old number is left";
}

TEST_F(RestoreTest, ALinkThatItsReaderHasNotDrainedStays) {
  keep_life(5, 10);
  keep_life(5, 20);
  keep_life(6, 30);
  keep_link({shm::Incarnation(10), 1}, 5, 6, false);
  restore_hive();
  EXPECT_TRUE(has_link({shm::Incarnation(10), 1}));
}

// The record of the end of its life was to come next.
TEST_F(RestoreTest, AnOwnerWhoseDetachWasCutShortHasNotLeftItsLinks) {
  keep_living(5, 10);
  keep_life(6, 30);
  keep_link({shm::Incarnation(10), 1}, 5, 6, true);
  restore_hive();
  ASSERT_TRUE(has_link({shm::Incarnation(10), 1}));
  EXPECT_FALSE(hive_->registry.link({shm::Incarnation(10), 1})->faded)
      << "its reader would be told that it is gone, and would ask in vain to let go of it";
}

// A client that repeats it all the time must not keep the keeper busy.
TEST_F(RestoreTest, ARefusalThatIsRepeatedIsCountedOnceAndCostsTheKeeperNothing) {
  keep_life(5, 10);
  keep_living(6, 30);
  keep_link({shm::Incarnation(10), 1}, 5, 6, false);
  restore_hive();
  Caller reader;
  reader.pid = 6;
  reader.incarnation = shm::Incarnation(30);
  const ReportRequest refusal{"it is not ready", 5, shm::Incarnation(10), 1, true};
  (void)said_to_keeper();
  end_link(*hive_, reader, refusal);
  EXPECT_NE(said_to_keeper(), 0U);
  ASSERT_TRUE(has_link({shm::Incarnation(10), 1})) << "the next life of its owner needs it";
  for (int time = 0; time < 3; ++time) end_link(*hive_, reader, refusal);
  EXPECT_EQ(said_to_keeper(), 0U);
  EXPECT_EQ(hive_->quarantined_links, 1U);
}

TEST_F(RestoreTest, AnAgentAtItsLimitOfLinksIsRefusedNewOnesAndKeepsItsOwn) {
  keep_living(5, 20);
  keep_life(6, 30);
  keep_life(7, 40);
  keep_link({shm::Incarnation(20), 1}, 5, 6, false);
  restore_hive();
  constexpr std::uint32_t kMost = 2 * shm::kMaxAgents;
  LinkEntry left;  // a link of an earlier life counts too
  left.owner = 5;
  left.reader = 6;
  for (std::uint32_t serial = 2; serial <= kMost; ++serial) {
    left.key = {shm::Incarnation(10), serial};
    hive_->registry.add_link(left);
  }
  const auto known = open_again({shm::Incarnation(20), 1}, 5, 6);
  EXPECT_TRUE(known) << known.error().text;
  const auto refused = open_again({shm::Incarnation(20), 2}, 5, 7);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kFull);
}

TEST_F(RestoreTest, ToAParentTheNewestDeathsAreToldInTheirOrder) {
  constexpr std::uint32_t kChildren = 300;
  constexpr std::uint32_t kTold = 256;
  keep_life(5, 10);
  for (std::uint32_t i = 0; i < kChildren; ++i) {
    LifeRecord child = child_of(5, 100 + i, 1000 - i);  // the first is the newest
    child.untold_ends = {child.incarnation};
    keep(child);
  }
  restore_hive();
  const auto& untold = hive_->registry.agent(5)->untold;
  ASSERT_EQ(untold.size(), kTold);
  EXPECT_EQ(untold.front().incarnation, shm::Incarnation(1001 - kTold));
  EXPECT_EQ(untold.back().incarnation, shm::Incarnation(1000));
  EXPECT_EQ(hive_->registry.agent(100)->untold_ends, std::vector{shm::Incarnation(1000)});
  EXPECT_TRUE(hive_->registry.agent(100 + kTold)->untold_ends.empty())
      << "nobody will be told of it";
}

// The dead hold no place: parents that stay away could have them kept without end.
TEST_F(RestoreTest, TheParentWithTheMostUntoldDeathsLosesSomeOfThem) {
  constexpr Pid kParents = 17;
  constexpr std::uint64_t kOfEach = 242;
  constexpr std::size_t kTold = 4096;
  std::uint64_t incarnation = 1000;
  const auto keep_dead = [&](Pid parent) {
    LifeRecord child = life_of(static_cast<Pid>(incarnation), incarnation);
    child.parent = parent;
    child.index = 4000;
    child.temporary = true;
    child.dead = true;
    child.taken_over = true;
    child.untold_ends = {shm::Incarnation(incarnation++)};
    keep(child);
  };
  keep_life(5, 10);
  keep_dead(5);  // the oldest
  for (Pid parent = 10; parent < 10 + kParents; ++parent) {
    keep_life(parent, parent + 10);
    for (std::uint64_t i = 0; i < kOfEach; ++i) keep_dead(parent);
  }
  keep_dead(5);  // the newest
  restore_hive();
  EXPECT_EQ(hive_->untold_deaths, kTold);
  EXPECT_EQ(hive_->registry.agent(5)->untold.size(), 2U) << "it takes room from nobody";
  std::size_t left = 0;
  std::size_t named = 0;
  for (const auto& [pid, agent] : hive_->registry.agents()) {
    left += agent.untold.size();
    named += agent.untold_ends.size();
  }
  EXPECT_EQ(left, kTold);
  EXPECT_EQ(named, kTold) << "the others are forgotten";
  EXPECT_TRUE(is_logged("event=death_untold agent=1001 ")) << "the oldest of the first of them";
}

TEST_F(RestoreTest, DeathsThatNobodyIsLeftToHearOfWaitNoMore) {
  keep_life(5, 10);
  for (Pid pid = 6; pid < 9; ++pid) {
    LifeRecord child = child_of(5, pid, pid + 10);
    child.untold_ends = {child.incarnation};
    keep(child);
  }
  restore_hive();
  ASSERT_EQ(hive_->untold_deaths, 3U);
  hive_->tree.set_state(5, shm::AgentState::kDead);
  finish_death(*hive_, 5);
  EXPECT_EQ(hive_->untold_deaths, 0U);
  EXPECT_TRUE(hive_->registry.agent(6)->untold_ends.empty());
}

TEST_F(RestoreTest, NobodyIsToldOfADeathIfTheParentIsDead) {
  LifeRecord parent = life_of(5, 10);
  parent.temporary = true;
  parent.dead = true;
  keep(parent);
  LifeRecord child = child_of(5, 6, 20);
  child.untold_ends = {shm::Incarnation(20)};
  keep(child);
  restore_hive();
  EXPECT_TRUE(hive_->registry.agent(6)->untold_ends.empty());
  EXPECT_TRUE(hive_->registry.agent(5)->untold.empty());
}

TEST_F(RestoreTest, BothEndsOfAChildAreToldAndOnlyTheLastOneIsFinal) {
  keep_life(5, 10);
  LifeRecord child = child_of(5, 6, 40);
  child.temporary = true;
  child.dead = true;
  child.untold_ends = {shm::Incarnation(20), shm::Incarnation(40)};
  keep(child);
  LifeRecord between = child_of(5, 7, 30);
  between.untold_ends = {shm::Incarnation(30)};
  keep(between);
  restore_hive();
  const auto& untold = hive_->registry.agent(5)->untold;
  ASSERT_EQ(untold.size(), 3U);
  EXPECT_EQ(untold[0].incarnation, shm::Incarnation(20));
  EXPECT_EQ(untold[0].state, shm::AgentState::kAway) << "it had another life";
  EXPECT_EQ(untold[1].incarnation, shm::Incarnation(30));
  EXPECT_EQ(untold[2].incarnation, shm::Incarnation(40));
  EXPECT_EQ(untold[2].state, shm::AgentState::kDead);
}

TEST_F(RestoreTest, TheDeadRestOnceTheirParentWasTold) {
  keep_life(5, 10);
  LifeRecord child = child_of(5, 6, 20);
  child.temporary = true;
  child.dead = true;
  child.taken_over = true;
  child.untold_ends = {shm::Incarnation(20)};
  keep(child);
  LifeRecord told = child;
  told.pid = 7;
  told.name = "agent-7";
  told.untold_ends = {};
  keep(told);
  restore_hive();
  ASSERT_EQ(hive_->tombstones.size(), 1U);
  EXPECT_EQ(hive_->tombstones.front().pid, 7U);
  constexpr std::int64_t kHour = 3'600'000'000'000;
  (void)end_overdue(*hive_, os::monotonic_ns() + kHour);
  EXPECT_EQ(hive_->registry.agent(7), nullptr);
  EXPECT_NE(hive_->registry.agent(6), nullptr) << "nobody would know whom to tell of it";
}

}  // namespace
}  // namespace beeline::control
