#include "shm/history.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>

#include "shm/verify.h"
#include "tests/unit/verify_samples.h"

namespace beeline {
namespace {

using shm::HistoryItem;
using shm::HistoryReader;
using shm::HistoryRing;
using shm::HistoryWriter;
using shm::kHistoryRowCount;
using test::Sample;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

class History : public testing::Test {
 protected:
  History() { shm::init_history(memory_.data(), "worker", test::kSender, shm::Incarnation(1000)); }

  void write(std::uint64_t counter, std::string_view preview = {}) {
    writer_.write(test::sample_note(counter), bytes_of(preview));
  }
  static std::uint64_t counter_of(const HistoryItem& item) {
    return shm::counter_of_message(item.row.id);
  }

  Sample memory_{shm::HistoryLayout::kBytes};
  HistoryWriter writer_{memory_.data(), HistoryRing::kOwn};
  HistoryReader reader_{memory_.data(), HistoryRing::kOwn};
  HistoryItem item_;
};

TEST_F(History, RowsComeInTheirOrderWithAllTheirFields) {
  EXPECT_FALSE(reader_.next(item_));
  write(1, "hello");
  write(2);
  ASSERT_TRUE(reader_.next(item_));
  EXPECT_TRUE(item_.has_row);
  EXPECT_EQ(item_.lost, 0U);
  EXPECT_EQ(counter_of(item_), 1U);
  EXPECT_EQ(item_.type(), "task");
  EXPECT_EQ(item_.shown(), "hello");
  EXPECT_EQ(item_.row.peer, test::kReader);
  EXPECT_EQ(item_.event(), shm::HistoryEvent::kSent);
  ASSERT_TRUE(reader_.next(item_));
  EXPECT_EQ(counter_of(item_), 2U);
  EXPECT_EQ(item_.shown(), "");
  EXPECT_FALSE(reader_.next(item_));
}

TEST_F(History, TheRingsDoNotMix) {
  write(1);
  HistoryReader other(memory_.data(), HistoryRing::kSend);
  EXPECT_FALSE(other.next(item_));
}

TEST_F(History, AllFieldsOfANoteAreInItsRow) {
  unsigned char trace[shm::kTraceBytes];
  for (std::size_t i = 0; i < sizeof(trace); ++i) trace[i] = static_cast<unsigned char>(i + 1);
  const shm::HistoryNote note{.event = shm::HistoryEvent::kRejected,
                              .reason = 1,
                              .id = 2,
                              .cause = 3,
                              .reply_to = 4,
                              .at_ns = 5,
                              .peer = 6,
                              .rank = -7,
                              .length = 8,
                              .flags = 9,
                              .trace = trace,
                              .type = shm::type_words("type")};
  writer_.write(note, bytes_of("ten"));
  ASSERT_TRUE(reader_.next(item_));
  EXPECT_EQ(item_.event(), shm::HistoryEvent::kRejected);
  EXPECT_EQ(item_.row.reason, 1);
  EXPECT_EQ(item_.row.id, 2U);
  EXPECT_EQ(item_.row.cause, 3U);
  EXPECT_EQ(item_.row.reply_to, 4U);
  EXPECT_EQ(item_.row.at_ns, 5);
  EXPECT_EQ(item_.row.peer, 6U);
  EXPECT_EQ(item_.row.rank, -7);
  EXPECT_EQ(item_.row.length, 8U);
  EXPECT_EQ(item_.row.flags, 9);
  EXPECT_EQ(std::memcmp(item_.row.trace, trace, sizeof(trace)), 0);
  EXPECT_EQ(item_.type(), "type");
  EXPECT_EQ(item_.shown(), "ten");
}

TEST_F(History, TypesAndPreviewsOfEachLengthAreWhole) {
  const std::string text = "abcdefghijklmnopqrstuvwxyz01234";
  ASSERT_EQ(text.size(), shm::kMaxStringLength);
  for (std::size_t length = 0; length <= text.size(); ++length) {
    const std::string part = text.substr(0, length);
    shm::HistoryNote note = test::sample_note(1);
    note.type = shm::type_words(part);
    writer_.write(note, bytes_of(part));
    ASSERT_TRUE(reader_.next(item_));
    EXPECT_EQ(item_.type(), part);
    EXPECT_EQ(item_.shown(), part);
    note.type = shm::type_words(shm::to_string_copy(part));
    writer_.write(note, {});
    ASSERT_TRUE(reader_.next(item_));
    EXPECT_EQ(item_.type(), part);
  }
}

TEST_F(History, NoMemoryIsTouchedThatIsNotShown) {
  for (std::uint64_t i = 1; i <= 5; ++i) write(i, "hello");
  HistoryReader reader(memory_.data(), HistoryRing::kOwn, 0, 0);
  EXPECT_EQ(reader.used(), 5U);
  EXPECT_FALSE(reader.next(item_));
  reader.show(4, 1);
  for (std::uint64_t i = 1; i <= 4; ++i) {
    ASSERT_TRUE(reader.next(item_));
    EXPECT_EQ(counter_of(item_), i);
    EXPECT_EQ(item_.preview[0], i == 1 ? 'h' : 0);
    std::memset(item_.preview, 0, sizeof(item_.preview));
  }
  EXPECT_FALSE(reader.next(item_));
  reader.show(kHistoryRowCount, kHistoryRowCount);
  ASSERT_TRUE(reader.next(item_));
  EXPECT_EQ(item_.shown(), "hello");
}

TEST_F(History, ALongPreviewIsCut) {
  write(1, std::string(500, 'x'));
  ASSERT_TRUE(reader_.next(item_));
  EXPECT_EQ(item_.shown(), std::string(shm::kPreviewBytes, 'x'));
}

TEST_F(History, ASlowReaderIsToldHowManyRowsItHasLost) {
  write(1);
  ASSERT_TRUE(reader_.next(item_));
  for (std::uint64_t i = 2; i <= kHistoryRowCount + 11; ++i) write(i);
  ASSERT_TRUE(reader_.next(item_));
  EXPECT_EQ(item_.lost, 10U);
  EXPECT_EQ(counter_of(item_), 12U);
  std::uint64_t rows = 1;
  while (reader_.next(item_)) {
    EXPECT_EQ(item_.lost, 0U);
    ++rows;
  }
  EXPECT_EQ(rows, kHistoryRowCount);
}

TEST_F(History, ALateReaderMayLeaveOutTheRowsThatAreThere) {
  write(1);
  reader_.skip_all();
  write(2);
  ASSERT_TRUE(reader_.next(item_));
  EXPECT_EQ(item_.lost, 0U);
  EXPECT_EQ(counter_of(item_), 2U);
}

TEST_F(History, ARowThatIsBeingWrittenOverIsLostAndNoOtherOne) {
  for (std::uint64_t i = 1; i <= kHistoryRowCount + 1; ++i) write(i);
  // The writer was killed in the next row: its place is cleared, the old row is half overwritten.
  memory_.poke<std::uint64_t>(shm::HistoryLayout::row_of(HistoryRing::kOwn, kHistoryRowCount + 1),
                              0);
  ASSERT_TRUE(reader_.next(item_));
  EXPECT_EQ(item_.lost, 2U);
  EXPECT_EQ(counter_of(item_), 3U);
  EXPECT_FALSE(shm::verify_segment(memory_.bytes()));
}

TEST_F(History, ALostRowIsToldEvenIfNoRowFollows) {
  write(1);
  memory_.poke<std::uint64_t>(shm::HistoryLayout::row_of(HistoryRing::kOwn, 0), 0);
  ASSERT_TRUE(reader_.next(item_));
  EXPECT_FALSE(item_.has_row);
  EXPECT_EQ(item_.lost, 1U);
  EXPECT_FALSE(reader_.next(item_));
}

TEST_F(History, AHeadThatFallsEndsNothing) {
  write(1);
  ASSERT_TRUE(reader_.next(item_));
  memory_.poke<std::uint64_t>(shm::ring_head_at(HistoryRing::kOwn), 0);
  EXPECT_FALSE(reader_.has_fallen());
  EXPECT_FALSE(reader_.next(item_));
  EXPECT_TRUE(reader_.has_fallen());
  memory_.poke<std::uint64_t>(shm::ring_head_at(HistoryRing::kOwn), ~std::uint64_t{0});
  ASSERT_TRUE(reader_.next(item_));
  EXPECT_FALSE(item_.has_row);
}

// All fields of a row follow from its number: a torn row would show.
TEST_F(History, NoReaderSeesATornRowWhileTheWriterGoesRound) {
  constexpr std::uint64_t kRows = 300'000;
  std::thread writer([&] {
    for (std::uint64_t i = 1; i <= kRows; ++i) {
      shm::HistoryNote note = test::sample_note(i);
      note.reply_to = i * 3;
      note.cause = i * 5;
      note.length = static_cast<std::uint32_t>(i);
      note.type.words[3] = i;
      writer_.write(note, bytes_of(std::to_string(i)));
    }
  });
  std::uint64_t seen = 0;
  std::uint64_t next = 1;
  while (next <= kRows) {
    if (!reader_.next(item_)) continue;
    next += item_.lost;
    if (!item_.has_row) continue;
    const std::uint64_t i = counter_of(item_);
    ASSERT_EQ(i, next);
    EXPECT_EQ(item_.row.reply_to, i * 3);
    EXPECT_EQ(item_.row.cause, i * 5);
    EXPECT_EQ(item_.row.length, i);
    std::uint64_t last = 0;
    std::memcpy(&last, item_.row.type + 24, sizeof(last));
    EXPECT_EQ(last, i);
    EXPECT_EQ(item_.shown(), std::to_string(i));
    ++next;
    ++seen;
  }
  writer.join();
  EXPECT_GE(seen, 1U);
}

// A kill leaves a prefix of the writer's stores. Each prefix of the words of a row is made here.
TEST_F(History, AWriterKilledAtAnyWordOfARowLeavesTheOlderRowsWhole) {
  for (std::uint64_t i = 1; i <= kHistoryRowCount + 1; ++i) write(i);
  Sample after = memory_;
  const std::uint64_t at = shm::HistoryLayout::row_of(HistoryRing::kOwn, kHistoryRowCount + 1);
  write(kHistoryRowCount + 2);
  std::swap(after, memory_);  // now `memory_` is before the row, `after` is behind it
  memory_.poke<std::uint64_t>(at, 0);
  for (std::size_t words = 0; words < sizeof(shm::HistoryRow) / 8; ++words) {
    Sample killed = memory_;
    std::memcpy(killed.data() + at + 8, after.data() + at + 8, words * 8);
    if (words + 1 == sizeof(shm::HistoryRow) / 8) {
      std::memcpy(killed.data() + at, after.data() + at, 8);  // the place is the last word
    }
    EXPECT_FALSE(shm::verify_segment(killed.bytes())) << words;
    HistoryReader reader(killed.data(), HistoryRing::kOwn);
    ASSERT_TRUE(reader.next(item_));
    EXPECT_EQ(item_.lost, 2U);
    std::uint64_t counter = 3;
    do {
      EXPECT_EQ(counter_of(item_), counter);
      ++counter;
    } while (reader.next(item_));
    EXPECT_EQ(counter, kHistoryRowCount + 2);
  }
}

// A sound history whose bytes are damaged at one place.
std::string finding_after(std::uint64_t offset, std::uint64_t value, std::size_t bytes) {
  Sample sample = test::sample_history();
  std::memcpy(sample.data() + offset, &value, bytes);
  const auto finding = shm::verify_segment(sample.bytes());
  return finding ? finding->invariant : "nothing";
}

TEST(VerifyHistory, EachBrokenInvariantIsNamed) {
  using Row = shm::HistoryRow;
  constexpr std::uint64_t kHead = kHistoryRowCount + 6;  // of the ring about sending
  const auto row = [](std::size_t field) {
    return shm::HistoryLayout::row_of(HistoryRing::kSend, 9) + field;
  };
  const std::uint64_t sent = shm::ring_head_at(HistoryRing::kSend);
  const std::uint64_t own = shm::ring_head_at(HistoryRing::kOwn);
  EXPECT_EQ(finding_after(shm::HistoryLayout::kControl + 64, 1, 8), "history.reserved");
  EXPECT_EQ(finding_after(own + 8, 1, 8), "history.reserved");
  EXPECT_EQ(finding_after(sent, shm::kMaxPosition + 1, 8), "history.head");
  EXPECT_EQ(finding_after(own, 7, 8), "history.row_missing");
  EXPECT_EQ(finding_after(row(0), kHead + 5, 8), "history.row_place");
  EXPECT_EQ(finding_after(row(0), 9, 8), "history.row_place");
  EXPECT_EQ(finding_after(row(0), 0, 8), "history.row_missing");
  EXPECT_EQ(finding_after(row(offsetof(Row, event)), 0, 1), "history.event");
  EXPECT_EQ(finding_after(row(offsetof(Row, event)), 9, 1), "history.event");
  EXPECT_EQ(finding_after(row(offsetof(Row, reason)), 9, 1), "history.reason");
  EXPECT_EQ(finding_after(row(offsetof(Row, type_length)), 33, 1), "history.type");
  EXPECT_EQ(finding_after(row(offsetof(Row, preview_length)), 201, 2), "history.preview");
  EXPECT_EQ(finding_after(row(offsetof(Row, reserved0)), 1, 4), "history.row_reserved");
  EXPECT_EQ(finding_after(row(offsetof(Row, reserved1)), 1, 8), "history.row_reserved");
  // A writer that was killed may have been writing over the oldest row.
  const std::uint64_t next = shm::HistoryLayout::row_of(HistoryRing::kSend, kHead);
  EXPECT_EQ(finding_after(next, 0, 8), "nothing");
}

}  // namespace
}  // namespace beeline
