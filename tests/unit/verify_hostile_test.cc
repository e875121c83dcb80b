// A walk over hostile bytes stays inside and ends. Run it under the address sanitizer.

#include <gtest/gtest.h>

#include <random>

#include "shm/verify.h"
#include "tests/support/soak.h"
#include "tests/unit/verify_samples.h"

namespace beeline {
namespace {

using shm::Taken;
using test::Sample;

constexpr Taken kAllWays[] = {Taken::kAfterDeath, Taken::kAtRest, Taken::kWhileLive};
constexpr auto kSamples = {test::sample_link, test::sample_home, test::sample_status,
                           test::sample_directory, test::sample_history};

// Checks a copy of exactly this size, so that a sanitizer sees a read behind its end.
bool is_sound(std::span<const std::byte> bytes, Taken taken) {
  return !shm::verify_segment(bytes, taken);
}

TEST(VerifyHostile, EveryFileThatWasCutShortIsBroken) {
  for (const auto make : kSamples) {
    Sample sample = make();
    const auto whole = sample.bytes();
    // Every length within the part that the walkers read, then steps.
    const std::size_t stride = test::is_brief() ? 4093 : 509;
    for (std::size_t length = 0; length < whole.size(); length += length < 8192 ? 1 : stride) {
      const std::vector<std::byte> cut(whole.begin(),
                                       whole.begin() + static_cast<std::ptrdiff_t>(length));
      for (const Taken taken : kAllWays) EXPECT_FALSE(is_sound(cut, taken)) << length;
    }
  }
}

TEST(VerifyHostile, EveryFileThatWasCutShortAndLiesAboutItIsBroken) {
  for (const auto make : kSamples) {
    Sample sample = make();
    const auto whole = sample.bytes();
    for (std::size_t length = sizeof(shm::SegmentHeader); length < whole.size();
         length += length < 8192 ? 1 : 4093) {
      std::vector<std::byte> cut(whole.begin(),
                                 whole.begin() + static_cast<std::ptrdiff_t>(length));
      const std::uint64_t size = length;
      std::memcpy(cut.data() + offsetof(shm::SegmentHeader, size_bytes), &size, sizeof(size));
      for (const Taken taken : kAllWays) EXPECT_FALSE(is_sound(cut, taken)) << length;
    }
  }
}

TEST(VerifyHostile, RandomBytesAreBroken) {
  std::mt19937_64 random(20261121);
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::byte> bytes(random() % 8192);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    // Half of them pass the first check.
    if (i % 2 == 0 && bytes.size() >= sizeof(shm::SegmentHeader)) {
      const std::uint64_t size = bytes.size();
      const std::uint32_t version = shm::kLayoutMajor;
      const auto kind = static_cast<std::uint32_t>(1 + random() % 4);
      std::memcpy(bytes.data(), &shm::kMagic, 8);
      std::memcpy(bytes.data() + offsetof(shm::SegmentHeader, layout_major), &version, 4);
      std::memcpy(bytes.data() + offsetof(shm::SegmentHeader, kind), &kind, 4);
      std::memcpy(bytes.data() + offsetof(shm::SegmentHeader, size_bytes), &size, 8);
    }
    for (const Taken taken : kAllWays) EXPECT_FALSE(is_sound(bytes, taken));
  }
}

// One wrong write in the most important places: a byte or a word, random or plausible as a count.
void damage(std::span<std::byte> bytes, std::mt19937_64& random) {
  const std::size_t reach =
      random() % 3 == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 8192);
  const std::size_t at = random() % reach;
  std::uint64_t value = random();
  if (random() % 2 == 0) value >>= random() % 64;
  const std::size_t width = std::size_t{1} << random() % 4;
  std::memcpy(bytes.data() + at, &value, std::min(width, bytes.size() - at));
}

TEST(VerifyHostile, TwentyThousandMutationsNeitherCrashNorHang) {
  std::mt19937_64 random(42);
  std::size_t found = 0;
  for (const auto make : kSamples) {
    Sample sample = make();
    const std::vector<std::byte> sound(sample.bytes().begin(), sample.bytes().end());
    std::vector<std::byte> bytes = sound;
    for (int i = 0; i < 5000; ++i) {
      // Damage adds up a little, then the sample is made new.
      if (i % 4 == 0) bytes = sound;
      damage(bytes, random);
      for (const Taken taken : kAllWays) found += !is_sound(bytes, taken);
    }
  }
  EXPECT_GT(found, 10'000U);
}

// The largest counts that the limits allow are walked in bounded time.
TEST(VerifyHostile, TheLargestCountsEnd) {
  Sample sample = test::sample_home();
  const shm::Home home(sample.data(), test::kSmallInbox);
  home.control().rows_allocated.publish(shm::kMaxRows);
  for (std::uint16_t i = 0; i < shm::kMaxRows; ++i) {
    shm::open_row(home.row(shm::RowIndex(i)), {shm::Incarnation(1000U + i % 2), i / 2 + 1U},
                  test::kSender, 0, 0);
  }
  shm::open_row(home.row(shm::RowIndex(0)), test::kSenderLink, test::kSender, 13, 0);
  EXPECT_TRUE(is_sound(sample.bytes(), Taken::kAtRest));
}

}  // namespace
}  // namespace beeline
