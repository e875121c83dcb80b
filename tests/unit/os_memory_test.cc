// The facts about segments and futexes that Beeline relies on, and the wrappers that use them.

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

#include "src/os/fd.h"
#include "src/os/futex.h"
#include "src/os/mapping.h"
#include "src/os/memfd.h"
#include "tests/unit/os_test_support.h"

namespace beeline::os {
namespace {

TEST(MemfdTest, IsSparseUntilAllocated) {
  auto fd = create_memfd("sparse", kSize);
  ASSERT_TRUE(is_ok(fd));
  EXPECT_EQ(file_size(fd->get()).value().allocated_bytes, 0U);
  ASSERT_TRUE(is_ok(allocate(fd->get(), {0, kFirstExtent})));
  EXPECT_EQ(file_size(fd->get()).value().allocated_bytes, kFirstExtent);
  EXPECT_TRUE((::fcntl(fd->get(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST(MemfdTest, RefusesBadSizesAndNames) {
  EXPECT_TRUE(has_error(create_memfd("x", 0), ErrorCode::kInvalid));
  EXPECT_TRUE(
      has_error(create_memfd("x", std::numeric_limits<std::uint64_t>::max()), ErrorCode::kInvalid));
  EXPECT_TRUE(has_error(create_memfd(std::string(250, 'x'), kSize), ErrorCode::kInvalid));
  EXPECT_TRUE(is_ok(create_memfd(std::string(249, 'x'), kSize)));
}

TEST(MemfdTest, AllocationGoesOnAfterSealingAndKeepsTheContents) {
  auto segment = make_segment();
  ASSERT_TRUE(is_ok(segment));
  segment->mapping.data()[0] = std::byte{7};
  ASSERT_TRUE(is_ok(allocate(segment->fd.get(), {kFirstExtent, kFirstExtent})));
  ASSERT_TRUE(is_ok(allocate(segment->fd.get(), {0, kFirstExtent})));
  EXPECT_EQ(file_size(segment->fd.get()).value().allocated_bytes, 2 * kFirstExtent);
  EXPECT_EQ(segment->mapping.data()[0], std::byte{7});
  segment->mapping.data()[2 * kFirstExtent - 1] = std::byte{8};
}

TEST(MemfdTest, AllocationOutsideOfTheFileIsRefused) {
  auto fd = create_memfd("bounds", kSize);
  ASSERT_TRUE(is_ok(fd));
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  EXPECT_TRUE(has_error(allocate(fd->get(), {0, kSize + 1}), ErrorCode::kInvalid));
  EXPECT_TRUE(has_error(allocate(fd->get(), {kSize, 1}), ErrorCode::kInvalid));
  EXPECT_TRUE(has_error(allocate(fd->get(), {4096, kMax}), ErrorCode::kInvalid));
  EXPECT_TRUE(has_error(allocate(fd->get(), {kMax, 4096}), ErrorCode::kInvalid));
  EXPECT_TRUE(has_error(allocate(fd->get(), {0, 0}), ErrorCode::kInvalid));
  EXPECT_EQ(file_size(fd->get()).value().allocated_bytes, 0U);
}

TEST(MemfdTest, MemoryThatCannotBeHadIsAnErrorThatNamesTheBytes) {
  // Never ask the kernel itself for too much, because it kills random processes before it refuses.
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 56;
  auto fd = create_memfd("huge", kHuge);
  ASSERT_TRUE(is_ok(fd));
  const auto outcome = allocate(fd->get(), {0, kHuge});
  EXPECT_TRUE(has_error(outcome, ErrorCode::kNoMemory));
  EXPECT_NE(outcome.error().text.find(std::to_string(kHuge)), std::string::npos);
  EXPECT_EQ(file_size(fd->get()).value().allocated_bytes, 0U);
}

TEST(SealTest, NobodyCanWriteShrinkOrGrowAfterwards) {
  auto segment = make_segment();
  ASSERT_TRUE(is_ok(segment));
  // The mode of a memfd protects nothing: any holder can open it again for writing.
  const std::string path = "/proc/self/fd/" + std::to_string(segment->fd.get());
  const UniqueFd again(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(again.valid());
  EXPECT_TRUE(has_error(Mapping::map_writable(again.get(), kSize), ErrorCode::kSystem));
  EXPECT_TRUE(has_error(Mapping::map_writable(segment->fd.get(), kSize), ErrorCode::kSystem));
  EXPECT_EQ(::pwrite(again.get(), "x", 1, 0), -1);
  EXPECT_EQ(::ftruncate(again.get(), 0), -1);
  EXPECT_EQ(::ftruncate(again.get(), 2 * kSize), -1);
  EXPECT_EQ(::fallocate(again.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), -1);
  EXPECT_TRUE(has_error(seal(segment->fd.get()), ErrorCode::kSystem));

  auto reader = Mapping::map_readable(segment->fd.get(), kSize);
  ASSERT_TRUE(is_ok(reader));
  EXPECT_EQ(::mprotect(reader->data(), kSize, PROT_READ | PROT_WRITE), -1);
}

TEST(SealTest, TheOwnersMappingStaysWritableAndReadersSeeIt) {
  auto segment = make_segment();
  ASSERT_TRUE(is_ok(segment));
  auto reader = Mapping::map_readable(segment->fd.get(), kSize);
  ASSERT_TRUE(is_ok(reader));
  segment->mapping.data()[100] = std::byte{42};
  EXPECT_EQ(reader->data()[100], std::byte{42});
}

TEST(CheckForeignTest, AcceptsASegmentAndNamesTheFaultOfOthers) {
  auto segment = make_segment();
  ASSERT_TRUE(is_ok(segment));
  const int fd = segment->fd.get();
  EXPECT_TRUE(is_ok(check_foreign(fd, kSize, kFirstExtent)));
  EXPECT_TRUE(is_ok(check_foreign(fd, kSize, 0)));

  const auto too_small = check_foreign(fd, kSize + 4096, kFirstExtent);
  EXPECT_TRUE(has_error(too_small, ErrorCode::kBadSegment));
  EXPECT_NE(too_small.error().text.find(std::to_string(kSize + 4096)), std::string::npos);
  EXPECT_TRUE(has_error(check_foreign(fd, kSize - 4096, kFirstExtent), ErrorCode::kBadSegment));
  EXPECT_TRUE(has_error(check_foreign(fd, kSize, kFirstExtent + 1), ErrorCode::kBadSegment));
}

TEST(CheckForeignTest, RefusesEverySubsetOfTheSeals) {
  constexpr int kSeals[] = {F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_FUTURE_WRITE, F_SEAL_SEAL};
  for (unsigned mask = 0; mask < 16; ++mask) {
    auto fd = create_memfd("subset", kSize);
    ASSERT_TRUE(is_ok(fd));
    ASSERT_TRUE(is_ok(allocate(fd->get(), {0, kFirstExtent})));
    int seals = 0;
    for (unsigned bit = 0; bit < 4; ++bit) {
      if ((mask >> bit & 1U) != 0) seals |= kSeals[bit];
    }
    ASSERT_EQ(::fcntl(fd->get(), F_ADD_SEALS, seals), 0);
    EXPECT_EQ(check_foreign(fd->get(), kSize, kFirstExtent).has_value(), mask == 15) << mask;
    const auto grows = check_foreign(fd->get(), kSize, kFirstExtent, Growth::kAllowed);
    EXPECT_EQ(grows.has_value(), (mask | 2U) == 15) << mask;
  }
}

TEST(CheckForeignTest, RefusesFilesOfOtherKinds) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd read_end(ends[0]);
  const UniqueFd write_end(ends[1]);
  EXPECT_TRUE(has_error(check_foreign(read_end.get(), kSize, 0), ErrorCode::kBadSegment));
  const UniqueFd directory(::open("/proc", O_RDONLY | O_CLOEXEC));
  EXPECT_TRUE(has_error(check_foreign(directory.get(), kSize, 0), ErrorCode::kBadSegment));
  const UniqueFd shm(::open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (shm.valid()) {
    ASSERT_EQ(::ftruncate(shm.get(), kSize), 0);
    EXPECT_TRUE(has_error(check_foreign(shm.get(), kSize, 0), ErrorCode::kBadSegment));
  }
  EXPECT_TRUE(has_error(check_foreign(-1, kSize, 0), ErrorCode::kSystem));
}

TEST(CheckForeignTest, AFileThatCannotBeSealedIsRefused) {
  const UniqueFd folder(::open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) GTEST_SKIP() << "there is no /dev/shm here";
  const auto refused = check_foreign(folder.get(), 4096, 0);
  EXPECT_TRUE(has_error(refused, ErrorCode::kBadSegment));
}

TEST(MemfdTest, ADescriptorOfNoFileIsAnErrorOfTheKernel) {
  std::byte byte{};
  EXPECT_TRUE(has_error(allocate(-1, {0, 4096}), ErrorCode::kSystem));
  EXPECT_TRUE(has_error(seal(-1), ErrorCode::kSystem));
  EXPECT_TRUE(has_error(check_foreign(-1, 4096, 0), ErrorCode::kSystem));
  EXPECT_TRUE(has_error(read_at(-1, 0, {&byte, 1}), ErrorCode::kSystem));
  EXPECT_TRUE(has_error(write_at(-1, 0, {&byte, 1}), ErrorCode::kSystem));
  EXPECT_TRUE(has_error(file_size(-1), ErrorCode::kSystem));
}

TEST(MappingTest, TouchesNoPage) {
  auto fd = create_memfd("untouched", kSize);
  ASSERT_TRUE(is_ok(fd));
  auto writable = Mapping::map_writable(fd->get(), kSize);
  ASSERT_TRUE(is_ok(writable));
  auto readable = Mapping::map_readable(fd->get(), kSize);
  ASSERT_TRUE(is_ok(readable));
  EXPECT_EQ(writable->size(), kSize);
  EXPECT_EQ(file_size(fd->get()).value().allocated_bytes, 0U);
}

TEST(MappingTest, RefusesNothingAndMoreThanTheFile) {
  auto fd = create_memfd("small", 4096);
  ASSERT_TRUE(is_ok(fd));
  EXPECT_TRUE(has_error(Mapping::map_readable(fd->get(), 0), ErrorCode::kInvalid));
  EXPECT_TRUE(has_error(Mapping::map_readable(fd->get(), 4097), ErrorCode::kBadSegment));
  EXPECT_TRUE(has_error(Mapping::map_readable(-1, 4096), ErrorCode::kSystem));
}

TEST(MappingTest, MovesWithoutChangingItsAddress) {
  auto segment = make_segment();
  ASSERT_TRUE(is_ok(segment));
  std::byte* const address = segment->mapping.data();
  Mapping moved(std::move(segment->mapping));
  EXPECT_EQ(moved.data(), address);
  Mapping assigned;
  EXPECT_EQ(assigned.data(), nullptr);
  EXPECT_EQ(assigned.size(), 0U);
  assigned = std::move(moved);
  EXPECT_EQ(assigned.data(), address);
}

TEST(MappingTest, PopulateAllocatesARangeAndRefusesOneThatWouldFault) {
  auto fd = create_memfd("populate", kSize);
  ASSERT_TRUE(is_ok(fd));
  auto mapping = Mapping::map_readable(fd->get(), kSize);
  ASSERT_TRUE(is_ok(mapping));
  ASSERT_TRUE(is_ok(mapping->populate_read(5000, 100)));
  ASSERT_TRUE(is_ok(mapping->populate_read(kSize, 0)));
  EXPECT_TRUE(has_error(mapping->populate_read(kSize, 1), ErrorCode::kInvalid));
  EXPECT_TRUE(has_error(mapping->populate_read(1, std::numeric_limits<std::size_t>::max()),
                        ErrorCode::kInvalid));
  // Without the seals a peer can do this at any time.
  ASSERT_EQ(::ftruncate(fd->get(), 4096), 0);
  EXPECT_TRUE(has_error(mapping->populate_read(4096, 4096), ErrorCode::kBadSegment));
}

// ---- Growing files ------------------------------------------------------------------------------

TEST(GrowthTest, TheFileBecomesLongerAndItsOwnerWritesItThroughDuplicates) {
  constexpr std::uint64_t kFar = 64 * kBlockBytes;
  auto fd = create_memfd("grows", kBlockBytes);
  ASSERT_TRUE(is_ok(fd));
  ASSERT_TRUE(is_ok(allocate(fd->get(), {0, kBlockBytes}, Growth::kAllowed)));
  const Extent parts[] = {{0, 2 * kBlockBytes}, {kFar, kBlockBytes}};
  auto mapping = Mapping::map_parts_writable(fd->get(), parts);
  ASSERT_TRUE(is_ok(mapping));
  EXPECT_EQ(mapping->size(), 3 * kBlockBytes);
  ASSERT_TRUE(is_ok(seal(fd->get(), Growth::kAllowed)));
  EXPECT_TRUE(is_ok(check_foreign(fd->get(), kBlockBytes, kBlockBytes, Growth::kAllowed)));
  EXPECT_TRUE(has_error(check_foreign(fd->get(), 2 * kBlockBytes, 0, Growth::kAllowed),
                        ErrorCode::kBadSegment));

  auto first = mapping->duplicate(2 * kBlockBytes, 0, 4 * kBlockBytes);
  ASSERT_TRUE(is_ok(first));
  auto second = first->duplicate(3 * kBlockBytes, kBlockBytes, 4 * kBlockBytes);
  ASSERT_TRUE(is_ok(second));
  EXPECT_TRUE(has_error(mapping->duplicate(3 * kBlockBytes, 0, 1), ErrorCode::kInvalid));
  ASSERT_TRUE(is_ok(allocate(fd->get(), {kFar + 4 * kBlockBytes, kBlockBytes}, Growth::kAllowed)));
  const auto size = file_size(fd->get());
  ASSERT_TRUE(is_ok(size));
  EXPECT_EQ(size->length_bytes, kFar + 5 * kBlockBytes);
  EXPECT_EQ(size->allocated_bytes, 2 * kBlockBytes);
  second->data()[7] = std::byte{9};
  auto reader = Mapping::map_part_readable(fd->get(), {kFar + 4 * kBlockBytes, kBlockBytes});
  ASSERT_TRUE(is_ok(reader));
  EXPECT_EQ(reader->data()[7], std::byte{9});
}

// SIGXFSZ would end the process.
TEST(GrowthTest, ALimitOnTheSizeOfFilesIsNamedAndNeverASignal) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_DFL);
    const struct rlimit limit { 4 * kBlockBytes, 4 * kBlockBytes };
    const auto names_it = [](const auto& refused) {
      return has_error(refused, ErrorCode::kNoMemory) &&
             refused.error().text.find("ulimit -f") != std::string::npos &&
             refused.error().text.find("16384") != std::string::npos;
    };
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(2);
    if (!names_it(create_memfd("too-long", 5 * kBlockBytes))) ::_exit(3);
    auto fd = create_memfd("fits", 4 * kBlockBytes);
    if (!fd || !allocate(fd->get(), {0, 4 * kBlockBytes}, Growth::kAllowed)) ::_exit(4);
    const auto grown = allocate(fd->get(), {4 * kBlockBytes, kBlockBytes}, Growth::kAllowed);
    if (!names_it(grown)) ::_exit(5);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "wait status";
}

// The kernel would read the holes of each segment for a core dump, and so allocate them.
TEST(MappingTest, NoMappingIsInACoreDump) {
  auto segment = make_segment();
  ASSERT_TRUE(is_ok(segment));
  auto reader = Mapping::map_readable(segment->fd.get(), kSize);
  ASSERT_TRUE(is_ok(reader));
  auto again = segment->mapping.duplicate(0, 0, kSize);
  ASSERT_TRUE(is_ok(again));
  std::ifstream smaps("/proc/self/smaps");
  int mappings = 0;
  bool is_ours = false;
  for (std::string line; std::getline(smaps, line);) {
    if (line.find(" rw-s ") != std::string::npos || line.find(" r--s ") != std::string::npos) {
      is_ours = line.find("/memfd:os-test") != std::string::npos;
      mappings += is_ours ? 1 : 0;
    }
    if (!is_ours || !line.starts_with("VmFlags:")) continue;
    EXPECT_NE(line.find(" dd"), std::string::npos) << line;
    is_ours = false;
  }
  EXPECT_GE(mappings, 2);
}

TEST(MappingTest, AChildDoesNotInheritTheWritableMapping) {
  auto segment = make_segment();
  ASSERT_TRUE(is_ok(segment));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    unsigned char resident = 0;
    const bool is_mapped = ::mincore(segment->mapping.data(), 4096, &resident) == 0;
    ::_exit(is_mapped ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(FutexTest, ComparesAndTimesOut) {
  alignas(4) const std::uint32_t word = 5;
  EXPECT_EQ(futex_wait(&word, 4, kLong), WaitOutcome::kChanged);
  EXPECT_EQ(futex_wait(&word, 5, 1ms), WaitOutcome::kTimeout);
  EXPECT_EQ(futex_wait(&word, 5, -1ms), WaitOutcome::kTimeout);
  EXPECT_EQ(futex_wake_all(&word), 0);
}

TEST(FutexTest, AnotherProcessWakesThroughAReadOnlyMapping) {
  auto segment = make_segment();
  ASSERT_TRUE(is_ok(segment));
  auto reader = Mapping::map_readable(segment->fd.get(), kSize);
  ASSERT_TRUE(is_ok(reader));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    while (futex_wake_all(reader->data()) == 0) ::usleep(100);
    ::_exit(0);
  }
  auto outcome = WaitOutcome::kInterrupted;
  while (outcome == WaitOutcome::kInterrupted) {
    outcome = futex_wait(segment->mapping.data(), 0, std::chrono::nanoseconds::max());
  }
  EXPECT_EQ(outcome, WaitOutcome::kWoken);
  ::waitpid(child, nullptr, 0);
}

// Both are known to wait once both were moved from their word to another.
TEST(FutexTest, WakesAllWaiters) {
  alignas(4) static std::uint32_t word = 0;
  alignas(4) static std::uint32_t other = 0;
  const auto wait = [] { (void)futex_wait(&word, 0, std::chrono::nanoseconds::max()); };
  std::thread first(wait);
  std::thread second(wait);
  for (long moved = 0; moved < 2;) {
    moved += ::syscall(SYS_futex, &word, FUTEX_REQUEUE, 0, 2, &other, 0);
    std::this_thread::yield();
  }
  EXPECT_EQ(futex_wake_all(&other), 2);
  while (futex_wake_all(&other) != 0) {  // so that the threads end even if one was left
  }
  first.join();
  second.join();
}

TEST(FutexTest, AReaderCanWaitOnAReadOnlyWord) {
  auto segment = make_segment();
  ASSERT_TRUE(is_ok(segment));
  auto reader = Mapping::map_readable(segment->fd.get(), kSize);
  ASSERT_TRUE(is_ok(reader));
  std::atomic<bool> is_woken = false;
  std::thread waiter([&] {
    while (futex_wait(reader->data(), 0, kLong) == WaitOutcome::kInterrupted) {
    }
    is_woken = true;
  });
  while (!is_woken) futex_wake_all(segment->mapping.data());
  waiter.join();
}

}  // namespace
}  // namespace beeline::os
