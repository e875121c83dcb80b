#include <gtest/gtest.h>

#include "shm/directory.h"
#include "shm/status.h"
#include "tests/unit/segment_memory.h"

namespace beeline::shm {
namespace {

constexpr std::uint64_t kEpoch = 500;

class Directory : public testing::Test {
 protected:
  [[nodiscard]] DirectoryWriter make_writer() const {
    return DirectoryWriter(memory_.base(), kEpoch, kDefaultMaxPayload, 77);
  }
  static std::vector<AgentRecord> records(std::uint32_t count, std::uint32_t round) {
    std::vector<AgentRecord> all(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      all[i].pid = i + 1;
      all[i].restarts = round;
      std::memcpy(all[i].name, "agent", 6);
    }
    return all;
  }
  test::Memory memory_{DirectoryLayout::kBytes};
  DirectoryView view_{memory_.base()};
};

TEST(Status, ZeroedMemoryMeansAwake) {
  test::Memory memory(kStatusBytes);
  const auto& page = *reinterpret_cast<const StatusPage*>(memory.base());
  EXPECT_EQ(page.sleep.observe(), static_cast<std::uint32_t>(Sleep::kAwake));
}

TEST(Status, AFreshPageIsReadyAndNamesItsOwner) {
  test::Memory memory(kStatusBytes);
  auto& page = *reinterpret_cast<StatusPage*>(memory.base());
  init_status(page, 9, shm::Incarnation(2000));
  const SegmentIdentity promised{
      SegmentKind::kStatus, kStatusBytes, 9, 0, shm::Incarnation(2000), 0};
  EXPECT_EQ(check_header(page.header, kStatusBytes, promised), HeaderVerdict::kOk);
  EXPECT_EQ(page.header.ready.observe(), 1U);
  EXPECT_EQ(page.header.sections[0].offset, offsetof(StatusPage, sleep));
}

TEST(Status, HK_102_AnActivityThatNobodyKnowsReadsAsIdle) {
  for (std::uint32_t word = 0; word < 4; ++word) {
    EXPECT_EQ(static_cast<std::uint32_t>(activity_from(word)), word);
  }
  for (const std::uint32_t word : {4U, 77U, ~0U}) {
    EXPECT_EQ(activity_from(word), AgentActivity::kIdle) << word;
  }
  EXPECT_EQ(to_string(AgentActivity::kIdle), "idle");
  EXPECT_EQ(to_string(AgentActivity::kRunning), "running");
  EXPECT_EQ(to_string(AgentActivity::kBlocked), "blocked");
  EXPECT_EQ(to_string(AgentActivity::kSleeping), "sleeping");
  EXPECT_EQ(offsetof(StatusPage, activity) / kLinePair, offsetof(StatusPage, queued) / kLinePair);
}

TEST(Status, FieldsThatChangeOftenDoNotLieBesideTheWordThatSendersRead) {
  EXPECT_GE(offsetof(StatusPage, queued) - offsetof(StatusPage, sleep), kLinePair);
  EXPECT_EQ(offsetof(StatusPage, sleep) % kLinePair, 0U);
  EXPECT_GE(offsetof(StatusPage, sleep) - offsetof(SegmentHeader, ready), kLinePair);
}

TEST_F(Directory, AViewOfNothingIsNotValid) {
  EXPECT_FALSE(DirectoryView().valid());
  EXPECT_TRUE(view_.valid());
}

TEST_F(Directory, AFreshOneHasNoAgents) {
  [[maybe_unused]] const DirectoryWriter writer = make_writer();
  EXPECT_EQ(view_.epoch(), kEpoch);
  EXPECT_EQ(view_.agent_count(), 0U);
  EXPECT_EQ(view_.control().max_payload_bytes, kDefaultMaxPayload);
  EXPECT_EQ(view_.control().created_ns, 77U);
  for (const std::uint32_t i : {0U, 1U, kMaxAgents - 1}) EXPECT_EQ(view_.agent(i), AgentWord{});
  const SegmentIdentity promised{
      SegmentKind::kDirectory, DirectoryLayout::kBytes, 1, 0, shm::Incarnation(kEpoch), 0};
  EXPECT_EQ(check_header(view_.header(), DirectoryLayout::kBytes, promised), HeaderVerdict::kOk);
  EXPECT_EQ(view_.header().ready.observe(), 1U);
}

TEST_F(Directory, TheFirstExtentIsEnoughForEveryAgentWord) {
  test::Memory first_extent(DirectoryLayout::kFirstExtent);
  DirectoryWriter writer(first_extent.base(), kEpoch, kDefaultMaxPayload, 0);
  writer.set_word(kMaxAgents - 1, {shm::Incarnation(3), AgentState::kDead});
  EXPECT_EQ(writer.view().agent(kMaxAgents - 1),
            (AgentWord{shm::Incarnation(3), AgentState::kDead}));
}

TEST_F(Directory, TheWordOfAnAgentChangesByOneStore) {
  DirectoryWriter writer = make_writer();
  writer.set_word(5, {shm::Incarnation(10), AgentState::kRunning});
  writer.set_word(6, {Incarnation(kMaxIncarnation), AgentState::kAway});
  EXPECT_EQ(view_.agent(5), (AgentWord{shm::Incarnation(10), AgentState::kRunning}));
  EXPECT_EQ(view_.agent(6), (AgentWord{shm::Incarnation(kMaxIncarnation), AgentState::kAway}));
  EXPECT_EQ(view_.agent(7), AgentWord{});
}

TEST_F(Directory, ACountBeyondTheLimitIsCut) {
  DirectoryWriter writer = make_writer();
  writer.set_agent_count(17);
  EXPECT_EQ(view_.agent_count(), 17U);
  writer.set_agent_count(0xffffffff);
  EXPECT_EQ(view_.agent_count(), kMaxAgents);
}

TEST_F(Directory, EachPublicationReplacesAllRecordsAndRaisesTheEpoch) {
  DirectoryWriter writer = make_writer();
  for (std::uint32_t round = 1; round <= 5; ++round) {
    writer.publish(records(3, round).data(), 3);
    EXPECT_EQ(view_.epoch(), kEpoch + round);
    for (std::uint32_t i = 0; i < 3; ++i) {
      AgentRecord record{};
      ASSERT_TRUE(view_.read_record(i, record));
      EXPECT_EQ(record.pid, i + 1);
      EXPECT_EQ(record.restarts, round);
      EXPECT_STREQ(record.name, "agent");
    }
  }
}

TEST_F(Directory, TheLastAgentHasARecordInBothBuffers) {
  DirectoryWriter writer = make_writer();
  for (std::uint32_t round = 1; round <= 2; ++round) {
    writer.publish(records(kMaxAgents, round).data(), kMaxAgents);
    AgentRecord record{};
    ASSERT_TRUE(view_.read_record(kMaxAgents - 1, record));
    EXPECT_EQ(record.pid, kMaxAgents);
    EXPECT_EQ(record.restarts, round);
  }
}

TEST_F(Directory, AWriterKilledInTheMiddleOfAPublicationHasChangedNothing) {
  DirectoryWriter writer = make_writer();
  writer.publish(records(3, 1).data(), 3);
  ASSERT_EQ(view_.control().current.observe() & 1, 1U);
  std::memset(memory_.base() + DirectoryLayout::kRecords0, 0xee, 200);  // half of the other buffer
  AgentRecord record{};
  ASSERT_TRUE(view_.read_record(0, record));
  EXPECT_EQ(record.restarts, 1U);
  EXPECT_EQ(view_.epoch(), kEpoch + 1);
}

TEST_F(Directory, AnUnusedPlaceHasAZeroRecord) {
  DirectoryWriter writer = make_writer();
  writer.publish(records(1, 1).data(), 1);
  AgentRecord record{};
  record.pid = 99;
  ASSERT_TRUE(view_.read_record(1, record));
  EXPECT_EQ(record.pid, 0U);
}

}  // namespace
}  // namespace beeline::shm
