// The state that an agent keeps of a peer that has had many lives.

#include <sys/resource.h>

#include <atomic>
#include <fstream>
#include <string>
#include <vector>

#include "shm/link.h"
#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct HeirBoard {
  Event attached;
  Event taken;                   // from the ended lives of the owner
  Event sent;                    // all slabs of the living one are lent
  Event finished;                // the messages of the living one
  std::atomic<std::size_t> fds;  // of the life before
};

class FlowHeir : public HiveTest {};
INSTANTIATE_TEST_SUITE_P(As, FlowHeir, testing::Values(World::kProcesses), world_name);

constexpr std::uint32_t kLivesThatEnd = shm::kBanks;
constexpr std::uint32_t kOwners = 32;
constexpr std::uint32_t kSlabs = 48;  // of its class, and of the next class, which lends its slabs
const std::string kLarge(64U << 10, 'x');

BEELINE_ROLE(short_life) {
  auto agent = attach("owner");
  ASSERT_TRUE(agent);
  ASSERT_TRUE(agent->send_until(peer_of(*agent, "reader"), "left", patience(), {.type = "left"}));
}

// Holds the messages of the ended owners, finishes those of the living one, and is killed.
BEELINE_ROLE(reader_of_many) {
  auto& board = context.board<HeirBoard>();
  auto agent = attach("reader");
  ASSERT_TRUE(agent);
  board.attached.raise();
  await_drained(*agent, kLivesThatEnd);
  board.taken.raise();
  ASSERT_TRUE(board.sent.await(1, patience()));
  for (std::uint32_t i = 0; i < kSlabs; ++i) {
    Message message = next_message(*agent, {.type = "large"});
    ASSERT_TRUE(message.valid()) << i;
    message.done();
  }
  board.finished.raise();
  (void)agent->receive({.timeout = kPatience, .filter = kNobody});
}

TEST_P(FlowHeir, TheLivingOfManyLivesGetsItsSlabsBackFromASuccessor) {
  auto& shared = board<HeirBoard>();
  const std::size_t victim = troupe().start("reader_of_many");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  for (std::uint32_t i = 0; i < kLivesThatEnd; ++i) {
    troupe().wait(troupe().start("short_life", i), patience());
  }
  ASSERT_TRUE(shared.taken.await(1, patience()));
  auto owner = attach("owner");
  ASSERT_TRUE(owner);
  const Peer reader = peer_of(*owner, "reader");
  for (std::uint32_t i = 0; i < kSlabs; ++i) {
    ASSERT_TRUE(owner->send_until(reader, kLarge, patience(), {.type = "large"})) << i;
  }
  shared.sent.raise();
  ASSERT_TRUE(shared.finished.await(1, patience()));
  troupe().kill(victim);
  auto heir = attach("reader");
  ASSERT_TRUE(heir);
  const Deadline deadline = patience();
  for (std::uint32_t sent = 0; sent < kSlabs;) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << sent << " slabs came back";
    if (owner->send(reader, kLarge, {.type = "large"})) {
      ++sent;
    } else {
      drain_until(*owner, [] { return true; });
    }
  }
  EXPECT_EQ(take_texts(*heir, {.type = "left"}).size(), kLivesThatEnd);
  EXPECT_EQ(take_texts(*heir, {.type = "large"}).size(), kSlabs);
  expect_balance(*heir);
}

// `number`: slots in the normal lane of its link, all of which its reader maps.
BEELINE_ROLE(life_of_a_size) {
  AttachOptions options = named("owner");
  options.normal_slots = context.number;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  ASSERT_TRUE(agent->send(peer_of(*agent, "reader"), std::to_string(context.number)));
}

// While an object exists, this process cannot map more than this much memory.
class LittleMemory {
 public:
  explicit LittleMemory(std::uint64_t more_bytes) {
    std::uint64_t pages = 0;
    EXPECT_TRUE(std::ifstream("/proc/self/statm") >> pages);
    EXPECT_EQ(::getrlimit(RLIMIT_AS, &memory_), 0);
    const rlimit little{pages * shm::kPage + more_bytes, memory_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_AS, &little), 0);
  }
  ~LittleMemory() { EXPECT_EQ(::setrlimit(RLIMIT_AS, &memory_), 0); }
  LittleMemory(const LittleMemory&) = delete;
  LittleMemory& operator=(const LittleMemory&) = delete;

 private:
  rlimit memory_{};
};

TEST_P(FlowHeir, MessagesOfTheLifeBeforeComeFirstEvenIfTheirLinkCannotBeMappedAtOnce) {
  constexpr std::uint32_t kSmall = shm::kDefaultNormalSlots;
  constexpr std::uint64_t kForSmallLinks = 6U << 20;
  static_assert(shm::LinkLayout({.normal_slots = shm::kMaxLaneSlots}).first_part() >
                kForSmallLinks);
  AttachOptions options = named("reader");
  options.max_payload_bytes = shm::kMinMaxPayload;
  auto reader = attach(options);
  ASSERT_TRUE(reader);
  for (const std::uint32_t size : {shm::kMaxLaneSlots, kSmall}) {
    troupe().wait(troupe().start("life_of_a_size", size), patience());
  }
  {
    const LittleMemory little(kForSmallLinks);
    (void)reader->next_notice();  // it learns of both links
    EXPECT_FALSE(reader->try_receive());
  }
  for (const std::uint32_t size : {shm::kMaxLaneSlots, kSmall}) {
    Message message = next_message(*reader);
    EXPECT_EQ(message.text(), std::to_string(size));
    message.done();
  }
  expect_balance(*reader);
}

// All owners join it, and it is killed.
BEELINE_ROLE(reader_of_owners) {
  auto& board = context.board<HeirBoard>();
  auto agent = attach("reader");
  ASSERT_TRUE(agent);
  board.attached.raise();
  await_drained(*agent, kOwners);
  board.fds.store(count_open_fds());
  board.taken.raise();
  (void)agent->receive({.timeout = kPatience, .filter = kNobody});
}

// `number`: the limit of its open files.
BEELINE_ROLE(narrow_heir) {
  const rlimit most{context.number, context.number};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &most), 0);
  auto agent = attach("reader");
  ASSERT_TRUE(agent);
  EXPECT_EQ(take_texts(*agent).size(), kOwners);
}

TEST_P(FlowHeir, AHandOverNeedsOneDescriptorMoreForEachPeerThanTheLifeBefore) {
  auto& shared = board<HeirBoard>();
  const std::size_t victim = troupe().start("reader_of_owners");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  std::vector<Agent> owners;
  for (std::uint32_t i = 0; i < kOwners; ++i) {
    auto owner = attach("owner-" + std::to_string(i));
    ASSERT_TRUE(owner);
    ASSERT_TRUE(owner->send(peer_of(*owner, "reader"), "left"));
    owners.push_back(std::move(*owner));
  }
  ASSERT_TRUE(shared.taken.await(1, patience()));
  troupe().kill(victim);
  // In that link the life before has shown how much it took.
  const std::size_t most = shared.fds.load() + kOwners + kOwners / 2;
  troupe().wait(troupe().start("narrow_heir", static_cast<std::uint32_t>(most)), patience());
}

}  // namespace
}  // namespace beeline::test
