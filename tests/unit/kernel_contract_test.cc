// The facts about memory, seals, futexes and bells of the kernel that the design relies on. The
// tests ask the kernel itself, not our wrappers.

#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>

#include <array>
#include <climits>

#include "kernel_contract.h"
#include "src/os/event_fd.h"

namespace beeline::os {
namespace {

constexpr int kAllSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;

// ---- Sealed memory ------------------------------------------------------------------------------

TEST(KernelContract, SealsBindEveryHolderOfTheDescriptor) {
  Memory memory;
  const UniqueFd early = reopen(memory.fd.get(), O_RDWR);
  fact("the mode of a memfd lets any holder open it again for writing", early.valid());
  refused("F_SEAL_WRITE is refused while a writable mapping lives",
          ::fcntl(memory.fd.get(), F_ADD_SEALS, F_SEAL_WRITE), {EBUSY});
  fact("without F_SEAL_SEAL every holder can add seals: it must be set",
       ::fcntl(early.get(), F_ADD_SEALS, F_SEAL_SHRINK) == 0);
  fact("F_SEAL_FUTURE_WRITE is accepted while a writable mapping lives",
       ::fcntl(memory.fd.get(), F_ADD_SEALS, kAllSeals) == 0);
  const UniqueFd late = reopen(memory.fd.get(), O_RDWR);
  fact("after sealing it can still be opened for writing, which is worth nothing", late.valid());
  struct Way {
    const char* who;
    int fd;
  };
  for (const Way& way :
       {Way{"its owner", memory.fd.get()}, Way{"who opened it before", early.get()},
        Way{"who opens it afterwards", late.get()}}) {
    const std::string who = std::string(", ") + way.who;
    const int fd = way.fd;
    refused("sealed: no new writable mapping" + who,
            tries_to_map(fd, PROT_READ | PROT_WRITE, MAP_SHARED), {EPERM});
    refused("sealed: no write()" + who, ::pwrite(fd, "x", 1, 0), {EPERM});
    refused("sealed: no shrinking" + who, ::ftruncate(fd, kContractPage), {EPERM});
    refused("sealed: no growing" + who, ::ftruncate(fd, 2 * kContractBytes), {EPERM});
    refused("sealed: no growing by fallocate" + who,
            ::fallocate(fd, 0, kContractBytes, kContractPage), {EPERM});
    refused("sealed: no hole can be punched" + who,
            ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kContractPage), {EPERM});
    refused("sealed: no further seal" + who, ::fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), {EPERM});
  }
}

TEST(KernelContract, SealsBindEveryMapping) {
  Memory memory;
  ASSERT_EQ(::fcntl(memory.fd.get(), F_ADD_SEALS, kAllSeals), 0);
  std::byte* const shown = map_shared(memory.fd.get(), PROT_READ);
  ASSERT_NE(shown, nullptr);
  refused("a read-only mapping cannot be made writable",
          ::mprotect(shown, kContractPage, PROT_READ | PROT_WRITE), {EACCES});
  refused("MADV_REMOVE is refused through a read-only mapping",
          ::madvise(shown, kContractPage, MADV_REMOVE), {EACCES, EPERM});
  refused("MADV_REMOVE is refused through the owner's mapping",
          ::madvise(memory.at, kContractPage, MADV_REMOVE), {EPERM});
  const UniqueFd self(::open("/proc/self/mem", O_RDWR | O_CLOEXEC));
  refused("/proc/self/mem does not write through a read-only shared mapping",
          ::pwrite(self.get(), "x", 1, static_cast<off_t>(reinterpret_cast<std::uintptr_t>(shown))),
          {EIO, EFAULT});
  memory.word() = 7;
  const auto& seen = *reinterpret_cast<const std::atomic<std::uint32_t>*>(shown);
  fact("the owner's mapping stays writable and readers see it", seen == 7);
  void* const copy =
      ::mmap(nullptr, kContractPage, PROT_READ | PROT_WRITE, MAP_PRIVATE, memory.fd.get(), 0);
  fact("a private writable mapping is allowed", copy != MAP_FAILED);
  if (copy != MAP_FAILED) {
    *static_cast<std::uint32_t*>(copy) = 99;
    fact("what is written to a private mapping stays there", memory.word() == 7);
    ::munmap(copy, kContractPage);
  }
  fact("the owner may take and regain write access to its own mapping",
       ::mprotect(memory.at, kContractPage, PROT_READ) == 0 &&
           ::mprotect(memory.at, kContractPage, PROT_READ | PROT_WRITE) == 0);
  const long before = memory.blocks();
  fact("more of a sealed file can be allocated",
       ::fallocate(memory.fd.get(), 0, kContractPage, kContractPage) == 0 &&
           memory.blocks() > before);
  fact("allocating what is there changes nothing",
       ::fallocate(memory.fd.get(), 0, 0, kContractPage) == 0 && memory.word() == 7);
  ::munmap(shown, kContractBytes);
  const UniqueFd closed(::memfd_create("contract", MFD_CLOEXEC));
  refused("a memfd made without MFD_ALLOW_SEALING takes no seal",
          ::fcntl(closed.get(), F_ADD_SEALS, F_SEAL_GROW), {EPERM});
}

// A link: it grows, and its owner maps more of it when it uses more.
TEST(KernelContract, ASealedFileThatMayGrowAndItsOwnersFurtherMappings) {
  constexpr std::size_t kFar = 64 * kContractPage;
  Memory memory;
  void* const seed =
      ::mmap(nullptr, kContractPage, PROT_READ | PROT_WRITE, MAP_SHARED, memory.fd.get(), kFar);
  fact("a mapping may begin beyond the end of the file", seed != MAP_FAILED);
  EXPECT_EQ(::madvise(seed, kContractPage, MADV_DONTFORK), 0);
  EXPECT_EQ(::madvise(seed, kContractPage, MADV_DONTDUMP), 0);
  ASSERT_EQ(::fcntl(memory.fd.get(), F_ADD_SEALS, kAllSeals & ~F_SEAL_GROW), 0);
  refused("sealed but for growth: no new writable mapping",
          tries_to_map(memory.fd.get(), PROT_READ | PROT_WRITE, MAP_SHARED), {EPERM});
  refused("sealed but for growth: no shrinking", ::ftruncate(memory.fd.get(), kContractPage),
          {EPERM});
  void* const window = ::mremap(seed, 0, 2 * kContractPage, MREMAP_MAYMOVE);
  fact(
      "mremap from a length of 0 is one mapping more, longer than the first, at the same place in "
      "the file",
      window != MAP_FAILED && window != seed);
  ASSERT_NE(window, MAP_FAILED);
  fact("touched beyond the end of the file it is SIGBUS", dies_of(SIGBUS, [&] {
         void* const again =
             ::mmap(nullptr, kContractPage, PROT_READ, MAP_SHARED, memory.fd.get(), kFar);
         (void)*static_cast<volatile std::byte*>(again);
       }));
  const long before = memory.blocks();
  fact("fallocate makes the sealed file longer and leaves a hole before the extent",
       ::fallocate(memory.fd.get(), 0, kFar, 2 * kContractPage) == 0 &&
           memory.blocks() - before <= static_cast<long>(4 * kContractPage / 512));
  std::memcpy(static_cast<std::byte*>(window) + kContractPage, "seen", 4);
  std::array<char, 4> bytes{};
  fact("what is written to the second mapping lies in the file",
       ::pread(memory.fd.get(), bytes.data(), 4, kFar + kContractPage) == 4 &&
           std::memcmp(bytes.data(), "seen", 4) == 0);
  fact("a child does not get it, as the first",
       dies_of(SIGSEGV, [&] { (void)*static_cast<volatile std::byte*>(window); }));
  ::munmap(window, 2 * kContractPage);
  ::munmap(seed, kContractPage);
}

TEST(KernelContract, HolesAndMemoryThatRunsOut) {
  Memory memory;
  const long before = memory.blocks();
  std::array<char, 8> bytes{};
  (void)!::pread(memory.fd.get(), bytes.data(), bytes.size(), 8 * kContractPage);
  fact("pread of a hole allocates nothing", memory.blocks() == before);
  std::byte* const shown = map_shared(memory.fd.get(), PROT_READ);
  (void)*static_cast<volatile std::byte*>(shown + 8 * kContractPage);
  fact("a read of a hole through a mapping allocates it", memory.blocks() > before);
  ::munmap(shown, kContractBytes);
  EXPECT_EQ(::ftruncate(memory.fd.get(), kContractPage), 0);
  fact("a read beyond the end of a file that was cut is SIGBUS", dies_of(SIGBUS, [&] {
         (void)*static_cast<volatile std::byte*>(memory.at + 2 * kContractPage);
       }));

  const std::string sentence = "on a full tmpfs a store is SIGBUS where fallocate says ENOSPC";
  const TemporaryDirectory directory;
  const std::string place = directory / "small";
  const int status = status_of_child([&] {
    const bool mounted = ::mkdir(place.c_str(), 0700) == 0 && ::unshare(CLONE_NEWNS) == 0 &&
                         ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         ::mount("none", place.c_str(), "tmpfs", 0, "size=64k") == 0;
    if (!mounted) ::_exit(2);
    const int fd = ::open((place + "/file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (::ftruncate(fd, kSize) != 0) ::_exit(3);
    if (::fallocate(fd, 0, 0, kSize) == 0 || errno != ENOSPC) ::_exit(4);
    auto* const at = static_cast<volatile char*>(
        ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    for (std::size_t i = 0; i < kSize; i += kContractPage) at[i] = 1;
  });
  if (WIFEXITED(status) && WEXITSTATUS(status) == 2) {
    not_tried(sentence, "no file system may be mounted here");
  } else {
    fact(sentence, WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS,
         "wait status " + std::to_string(status));
  }
}

TEST(KernelContract, MemoryOfTheKilledAndOfChildren) {
  constexpr std::uint64_t kBig = 64 << 20;
  constexpr int kKills = 12;
  const auto free_bytes = [] {
    struct sysinfo info {};
    EXPECT_EQ(::sysinfo(&info), 0);
    return info.sharedram * info.mem_unit;
  };
  const std::uint64_t before = free_bytes();
  for (int i = 0; i < kKills; ++i) {
    (void)status_of_child([&] {
      const int fd = ::memfd_create("contract", MFD_CLOEXEC);
      if (::fallocate(fd, 0, 0, kBig) == 0) ::kill(::getpid(), SIGKILL);
    });
  }
  const std::uint64_t after = free_bytes();
  fact("memfds of killed processes leave nothing behind", after < before + kKills / 2 * kBig,
       std::to_string(after) + " bytes shared");

  Memory memory;
  memory.word() = 1;
  (void)status_of_child([&] { memory.word() = 2; });
  fact("a forked child writes through an inherited mapping", memory.word() == 2);
  ASSERT_EQ(::madvise(memory.at, kContractBytes, MADV_DONTFORK), 0);
  fact("MADV_DONTFORK takes the mapping from a forked child",
       dies_of(SIGSEGV, [&] { memory.word() = 3; }) && memory.word() == 2);
}

// ---- Futex --------------------------------------------------------------------------------------

long futex(const void* word, int operation, std::uint32_t value, const timespec* limit = nullptr,
           const void* other = nullptr) {
  return ::syscall(SYS_futex, word, operation, value, limit, other, 0);
}

// A child that sleeps on the word through a read-only mapping; it exits with 1 if it was woken and
// with 2 at its time-out.
pid_t sleep_on(const Memory& memory, std::time_t seconds) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  const std::byte* const shown = map_shared(memory.fd.get(), PROT_READ);
  const timespec limit{seconds, 0};
  const long woken = futex(shown, FUTEX_WAIT, 0, &limit);
  ::_exit(woken == 0 ? 1 : errno == ETIMEDOUT ? 2 : 3);
}
int exit_of(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
// Waits until the kernel reports a sleeper on the word: a requeue to the same word moves no
// sleeper.
void await_sleeper(pid_t child) {
  const std::string path = "/proc/" + std::to_string(child) + "/syscall";
  for (;;) {
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::array<char, 16> text{};
    if (!file.valid() || ::read(file.get(), text.data(), text.size() - 1) <= 0) return;
    if (std::string(text.data()).starts_with(std::to_string(SYS_futex) + " ")) return;
    ::sched_yield();
  }
}

TEST(KernelContract, FutexOnMemoryThatIsMappedForReading) {
  Memory memory;
  Memory other;
  const std::byte* const shown = map_shared(memory.fd.get(), PROT_READ);
  const timespec moment{0, 1};
  refused("a wait compares through a read-only mapping", futex(shown, FUTEX_WAIT, 1, &moment),
          {EAGAIN});
  refused("a wait times out on a read-only mapping", futex(shown, FUTEX_WAIT, 0, &moment),
          {ETIMEDOUT});
  pid_t child = sleep_on(memory, 60);
  await_sleeper(child);
  fact("a private wake does not meet a shared sleeper",
       futex(memory.at, FUTEX_WAKE_PRIVATE, INT_MAX) == 0);
  fact("a wake through a read-only mapping finds a sleeper of another process",
       futex(shown, FUTEX_WAKE, INT_MAX) == 1 && exit_of(child) == 1);
  child = sleep_on(memory, 3);
  await_sleeper(child);
  fact("who may read a word can move its sleepers to another one: a sleep must be bounded",
       futex(shown, FUTEX_REQUEUE, 0, reinterpret_cast<const timespec*>(std::intptr_t{INT_MAX}),
             other.at) == 1);
  fact("a wake does not find a sleeper that was moved", futex(shown, FUTEX_WAKE, INT_MAX) == 0);
  fact("the time-out of a sleeper that was moved still ends its sleep", exit_of(child) == 2);
}

// ---- Bells --------------------------------------------------------------------------------------

TEST(KernelContract, EventfdsAndPipes) {
  const UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  refused("an eventfd cannot be opened again", reopen(event.get(), O_RDWR).get(), {ENXIO});
  int sockets[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
  const UniqueFd one(sockets[0]);
  const UniqueFd two(sockets[1]);
  refused("a socket cannot be opened again", reopen(one.get(), O_RDWR).get(), {ENXIO});
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  ASSERT_EQ(::write(writer.get(), "x", 1), 1);
  const UniqueFd thief = reopen(writer.get(), O_RDONLY | O_NONBLOCK);
  char byte = 0;
  fact("who has the write end of a pipe can open it for reading and drain it: no bell of ours",
       ::read(thief.get(), &byte, 1) == 1);

  std::uint64_t count = 0xfffffffffffffffe;
  ASSERT_EQ(::write(event.get(), &count, sizeof count), 8);
  count = 1;
  refused("a saturated eventfd takes no more", ::write(event.get(), &count, sizeof count),
          {EAGAIN});
  fact("a saturated eventfd is readable", wait_readable(event.get(), 0ms));
  const UniqueFd held(::fcntl(event.get(), F_DUPFD_CLOEXEC, 0));
  fact("every holder of an eventfd can drain it: one for each peer of another user",
       ::read(held.get(), &count, sizeof count) == 8 && !wait_readable(event.get(), 0ms));
  ASSERT_EQ(::fcntl(held.get(), F_SETFL, 0), 0);
  fact("every holder of an eventfd can make it blocking for all",
       (::fcntl(event.get(), F_GETFL) & O_NONBLOCK) == 0);
}

}  // namespace
}  // namespace beeline::os
