#include "shm/identity.h"

#include <gtest/gtest.h>

namespace beeline::shm {
namespace {

TEST(AgentWord, ZeroIsAVacantPlace) {
  EXPECT_EQ(AgentWord{}.pack(), 0U);
  EXPECT_EQ(AgentWord::unpack(0), (AgentWord{shm::kNoIncarnation, AgentState::kVacant}));
}

TEST(AgentWord, EveryStateAndTheLargestIncarnationSurviveOneWord) {
  for (std::uint8_t state = 0; state <= static_cast<std::uint8_t>(AgentState::kDead); ++state) {
    for (const Incarnation life : {Incarnation(0), Incarnation(1), Incarnation(kMaxIncarnation)}) {
      const AgentWord word{life, static_cast<AgentState>(state)};
      EXPECT_EQ(AgentWord::unpack(word.pack()), word);
    }
  }
}

TEST(AgentWord, AStateOfAnotherVersionIsKeptAndCalledUnknown) {
  const AgentWord word = AgentWord::unpack(5ULL << 8 | 0xff);
  EXPECT_EQ(word.incarnation, Incarnation(5));
  EXPECT_EQ(to_string(word.state), "unknown");
}

TEST(AgentWord, EveryStateHasAName) {
  EXPECT_EQ(to_string(AgentState::kVacant), "vacant");
  EXPECT_EQ(to_string(AgentState::kStarting), "starting");
  EXPECT_EQ(to_string(AgentState::kRunning), "running");
  EXPECT_EQ(to_string(AgentState::kAway), "away");
  EXPECT_EQ(to_string(AgentState::kDead), "dead");
}

TEST(MessageId, SenderAndCounterComeBack) {
  constexpr std::uint64_t kMaxCounter = (1ULL << kMessageCounterBits) - 1;
  for (const std::uint32_t pid : {1U, 7U, kMaxPid}) {
    for (const std::uint64_t counter : {std::uint64_t{1}, std::uint64_t{1} << 32, kMaxCounter}) {
      const std::uint64_t id = make_message_id(pid, counter);
      EXPECT_EQ(pid_of_message(id), pid);
      EXPECT_EQ(counter_of_message(id), counter);
    }
  }
}

TEST(MessageId, ACounterBeyondItsBitsNeverChangesTheSender) {
  EXPECT_EQ(pid_of_message(make_message_id(7, (1ULL << kMessageCounterBits) + 5)), 7U);
  EXPECT_EQ(pid_of_message(make_message_id(7, ~0ULL)), 7U);
}

TEST(MessageId, IdsOfOneSenderRise) {
  EXPECT_LT(make_message_id(7, 1), make_message_id(7, 2));
  EXPECT_LT(make_message_id(7, ~0ULL), make_message_id(8, 1));
}

TEST(LinkKey, BothPartsNameALink) {
  EXPECT_EQ((LinkKey{shm::Incarnation(5), 1}), (LinkKey{shm::Incarnation(5), 1}));
  EXPECT_NE((LinkKey{shm::Incarnation(5), 1}), (LinkKey{shm::Incarnation(5), 2}));
  EXPECT_NE((LinkKey{shm::Incarnation(5), 1}), (LinkKey{shm::Incarnation(6), 1}));
}

}  // namespace
}  // namespace beeline::shm
