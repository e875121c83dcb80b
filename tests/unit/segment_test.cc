#include "shm/segment.h"

#include <gtest/gtest.h>

#include "tests/unit/segment_memory.h"

namespace beeline::shm {
namespace {

constexpr SegmentIdentity kPromised{SegmentKind::kLink, 8192, 7, 9, shm::Incarnation(1000), 3};

struct FilledHeader : SegmentHeader {
  FilledHeader() : SegmentHeader{} { init_header(*this, kPromised); }
};

TEST(SegmentHeader, AFreshHeaderHasThePromisedFieldsAndIsNotReady) {
  const FilledHeader header;
  EXPECT_EQ(check_header(header, 8192, kPromised), HeaderVerdict::kOk);
  EXPECT_EQ(header.ready.observe(), 0U);
}

TEST(SegmentHeader, TheMagicReadsAsTextInADump) {
  const FilledHeader header;
  EXPECT_EQ(std::memcmp(&header, "BEELINE1", 8), 0);
}

TEST(SegmentHeader, ZeroedMemoryIsNoSegment) {
  const SegmentHeader header{};
  EXPECT_EQ(check_header(header, 8192, kPromised), HeaderVerdict::kNoMagic);
}

TEST(SegmentHeader, AMappingShorterThanAHeaderIsRefused) {
  const FilledHeader header;
  EXPECT_EQ(check_header(header, sizeof(SegmentHeader) - 1, kPromised), HeaderVerdict::kTooShort);
}

TEST(SegmentHeader, EveryForeignVersionIsRefused) {
  for (const int step : {-1, 1}) {
    FilledHeader major;
    major.layout_major = static_cast<std::uint16_t>(kLayoutMajor + step);
    EXPECT_EQ(check_header(major, 8192, kPromised), HeaderVerdict::kForeignVersion);
    FilledHeader minor;
    minor.layout_minor = static_cast<std::uint16_t>(kLayoutMinor + step);
    EXPECT_EQ(check_header(minor, 8192, kPromised), HeaderVerdict::kForeignVersion);
  }
}

TEST(SegmentHeader, AnotherKindIsRefused) {
  FilledHeader header;
  header.kind = static_cast<std::uint32_t>(SegmentKind::kHome);
  EXPECT_EQ(check_header(header, 8192, kPromised), HeaderVerdict::kWrongKind);
  header.kind = 0xffffffff;
  EXPECT_EQ(check_header(header, 8192, kPromised), HeaderVerdict::kWrongKind);
}

TEST(SegmentHeader, HeaderMappingAndPromiseMustAgreeOnTheSize) {
  FilledHeader header;
  EXPECT_EQ(check_header(header, 4096, kPromised), HeaderVerdict::kWrongSize);
  EXPECT_EQ(check_header(header, 16384, kPromised), HeaderVerdict::kWrongSize);
  header.size_bytes = 16384;
  EXPECT_EQ(check_header(header, 8192, kPromised), HeaderVerdict::kWrongSize);
  EXPECT_EQ(check_header(header, 16384, kPromised), HeaderVerdict::kWrongSize);
}

TEST(SegmentHeader, EveryPartOfTheOwnersIdentityIsCompared) {
  FilledHeader owner;
  owner.owner_pid = 8;
  EXPECT_EQ(check_header(owner, 8192, kPromised), HeaderVerdict::kWrongOwner);
  FilledHeader peer;
  peer.peer_pid = 8;
  EXPECT_EQ(check_header(peer, 8192, kPromised), HeaderVerdict::kWrongOwner);
  FilledHeader life;
  life.owner_incarnation = 1001;
  EXPECT_EQ(check_header(life, 8192, kPromised), HeaderVerdict::kWrongOwner);
  FilledHeader serial;
  serial.serial = 4;
  EXPECT_EQ(check_header(serial, 8192, kPromised), HeaderVerdict::kWrongOwner);
}

TEST(SegmentHeader, SectionsAreAppendedInOrder) {
  FilledHeader header;
  add_section(header, SectionKind::kControl, 512, 1, 128);
  add_section(header, SectionKind::kSlabs, 4096, 2, 1024);
  ASSERT_EQ(header.section_count, 2U);
  EXPECT_EQ(header.sections[0].kind, static_cast<std::uint32_t>(SectionKind::kControl));
  EXPECT_EQ(header.sections[0].stride, 128U);
  EXPECT_EQ(header.sections[1].offset, 4096U);
  EXPECT_EQ(header.sections[1].count, 2U);
}

TEST(SegmentHeader, EveryVerdictAndKindHasAText) {
  for (std::uint32_t i = 0; i <= static_cast<std::uint32_t>(HeaderVerdict::kNotReady); ++i) {
    EXPECT_NE(to_string(static_cast<HeaderVerdict>(i)), "unknown verdict") << i;
  }
  EXPECT_EQ(to_string(static_cast<HeaderVerdict>(99)), "unknown verdict");
  for (std::uint32_t i = 0; i <= static_cast<std::uint32_t>(SegmentKind::kDirectory); ++i) {
    EXPECT_NE(to_string(static_cast<SegmentKind>(i)), "unknown") << i;
  }
  EXPECT_EQ(to_string(static_cast<SegmentKind>(99)), "unknown");
}

TEST(RoundUp, KeepsMultiplesAndRaisesTheRest) {
  EXPECT_EQ(round_up(0, kPage), 0U);
  EXPECT_EQ(round_up(1, kPage), kPage);
  EXPECT_EQ(round_up(kPage, kPage), kPage);
  EXPECT_EQ(round_up(kPage + 1, kPage), 2 * kPage);
}

TEST(WordArray, BytesOfEveryLengthComeBackAndNothingBehindThemIsTouched) {
  unsigned char source[64];
  for (std::size_t i = 0; i < sizeof(source); ++i) source[i] = static_cast<unsigned char>(i + 1);
  for (std::size_t length = 0; length <= sizeof(source); ++length) {
    WordArray<8> words;
    for (auto& word : words.words) word.relaxed_store(~0ULL);
    words.store_bytes(source, length);
    unsigned char target[64];
    std::memset(target, 0xee, sizeof(target));
    words.load_bytes(target, length);
    EXPECT_EQ(std::memcmp(target, source, length), 0) << length;
    const std::size_t stored = round_up(length, 8);
    for (std::size_t i = length; i < stored; ++i) EXPECT_EQ(target[i], 0) << length;
    for (std::size_t i = stored; i < sizeof(target); ++i) EXPECT_EQ(target[i], 0xee) << length;
    for (std::size_t i = stored / 8; i < 8; ++i) EXPECT_EQ(words.words[i].relaxed_load(), ~0ULL);
  }
}

}  // namespace
}  // namespace beeline::shm
