// Errors, descriptors, clocks, processes and lock files. Kernel facts about shared memory and
// sockets are in os_memory_test.cc and os_socket_test.cc, of the same program.

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <span>
#include <string>
#include <thread>

#include "src/os/clock.h"
#include "src/os/error.h"
#include "src/os/event_fd.h"
#include "src/os/fd.h"
#include "src/os/joint_fd.h"
#include "src/os/lock_file.h"
#include "src/os/packet_socket.h"
#include "src/os/pid_fd.h"
#include "src/os/process.h"
#include "src/os/text_file.h"
#include "src/os/timer_fd.h"
#include "tests/unit/os_test_support.h"

namespace beeline::os {
namespace {

// A file of /proc can be opened before its process ends, and not be read after it. The memory of a
// process has no page 0.
TEST(TextFile, AFileThatCannotBeReadIsEmpty) {
  EXPECT_EQ(read_text_file("/proc/self/mem"), "");
  EXPECT_EQ(read_text_file("/proc/self"), "");
  EXPECT_EQ(read_text_file("/proc/self/nothing"), "");
  EXPECT_EQ(read_text_file("/proc/sys/kernel/ostype"), "Linux\n");
}

TEST(ErrorTest, EveryCodeHasItsOwnName) {
  EXPECT_EQ(to_string(ErrorCode::kSystem), "system");
  EXPECT_EQ(to_string(ErrorCode::kNoAgent), "no_agent");
  EXPECT_EQ(to_string(ErrorCode::kClosed), "closed");
}

TEST(ErrorTest, ASystemErrorKeepsErrnoAndSaysWhat) {
  errno = ENOENT;
  const Error error = system_error("open 'x'");
  EXPECT_EQ(error.code, ErrorCode::kSystem);
  EXPECT_EQ(error.sys_errno, ENOENT);
  EXPECT_EQ(error.text, "open 'x': No such file or directory (errno 2)");
}

TEST(FdTest, ClosesOnceAndMoves) {
  const int before = count_open_fds();
  {
    UniqueFd first(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(first.valid());
    auto second = duplicate(first.get());
    ASSERT_TRUE(is_ok(second));
    EXPECT_TRUE((::fcntl(second->get(), F_GETFD) & FD_CLOEXEC) != 0);
    UniqueFd third(std::move(first));
    EXPECT_TRUE(third.valid());
    third = std::move(*second);
    EXPECT_EQ(count_open_fds(), before + 1);
  }
  EXPECT_EQ(count_open_fds(), before);
  EXPECT_TRUE(has_error(duplicate(-1), ErrorCode::kSystem));
}

// A14
TEST(FdTest, NeverOwnsTheNumberOfAStandardStream) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(stream);
    const UniqueFd made(::open("/dev/null", O_RDONLY));
    UniqueFd taken;
    taken.reset(::open("/dev/null", O_RDONLY));
    const auto copy = duplicate(made.get());
    const bool high = made.get() >= kFirstFd && taken.get() >= kFirstFd && copy->get() >= kFirstFd;
    const bool closed_on_exec = (::fcntl(made.get(), F_GETFD) & FD_CLOEXEC) != 0;
    const bool free = ::fcntl(STDIN_FILENO, F_GETFD) < 0;
    const bool filled = fill_standard_streams().has_value();
    const bool broken = ::write(STDOUT_FILENO, "x", 1) < 0 && ::read(STDIN_FILENO, nullptr, 0) < 0;
    ::_exit(high && closed_on_exec && free && filled && broken ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ClockTest, ClocksAgree) {
  const std::int64_t coarse = coarse_ns();
  const std::int64_t fine = monotonic_ns();
  EXPECT_LE(coarse, fine);
  EXPECT_GE(boot_us(), fine / 1'000);
  EXPECT_GT(realtime_ns(), std::int64_t{1'600'000'000} * 1'000'000'000);
}

TEST(TimerFdTest, IsReadableFromItsTimeOnUntilItIsSetAgain) {
  auto timer = create_timer_fd();
  ASSERT_TRUE(is_ok(timer));
  const auto is_readable = [&](std::chrono::nanoseconds timeout) {
    return wait_readable(timer->get(), timeout);
  };
  EXPECT_FALSE(is_readable(std::chrono::nanoseconds::zero())) << "nobody has set it";
  set_timer(timer->get(), monotonic_ns() + 1'000'000);
  EXPECT_TRUE(is_readable(std::chrono::seconds(60)));
  EXPECT_TRUE(is_readable(std::chrono::nanoseconds::zero())) << "it stays so";
  set_timer(timer->get(), monotonic_ns() + 3'600'000'000'000);
  EXPECT_FALSE(is_readable(std::chrono::nanoseconds::zero()));
  set_timer(timer->get(), 1);
  EXPECT_TRUE(is_readable(std::chrono::seconds(60))) << "a time that has passed";
  set_timer(timer->get(), 0);
  EXPECT_FALSE(is_readable(std::chrono::nanoseconds::zero()));
}

TEST(JointFdTest, AJointDescriptorIsReadableWhileOneOfItsPartsIs) {
  auto timer = create_timer_fd();
  auto event = create_event_fd();
  ASSERT_TRUE(is_ok(timer));
  ASSERT_TRUE(is_ok(event));
  auto joint = create_joint_fd();
  ASSERT_TRUE(is_ok(joint));
  ASSERT_TRUE(is_ok(add_to_joint(joint->get(), timer->get())));
  ASSERT_TRUE(is_ok(add_to_joint(joint->get(), event->get())));
  const auto is_readable = [&] { return wait_readable(joint->get(), std::chrono::nanoseconds(0)); };
  EXPECT_FALSE(is_readable());
  signal_event(event->get());
  EXPECT_TRUE(is_readable());
  std::array<int, 2> ready{};
  ASSERT_EQ(ready_in_joint(joint->get(), ready), 1U);
  EXPECT_EQ(ready[0], event->get());
  EXPECT_TRUE(drain_event(event->get()));
  EXPECT_EQ(ready_in_joint(joint->get(), ready), 0U);
  EXPECT_FALSE(is_readable());
  set_timer(timer->get(), 1);
  EXPECT_TRUE(wait_readable(joint->get(), std::chrono::seconds(60)));
  set_timer(timer->get(), 0);
  EXPECT_FALSE(is_readable());
  EXPECT_FALSE(is_ok(add_to_joint(joint->get(), -1)));
  // Another holder keeps the file open there, so it is removed before it is closed.
  const auto other = duplicate(event->get());
  ASSERT_TRUE(is_ok(other));
  remove_from_joint(joint->get(), event->get());
  event->reset();
  signal_event(other->get());
  EXPECT_FALSE(is_readable());
}

TEST(ProcessTest, SpawnStartsAChildAndTellsHowItEnded) {
  auto child = spawn({"sh", "-c", "exit 7"});
  ASSERT_TRUE(is_ok(child));
  auto pidfd = open_pidfd(*child);
  ASSERT_TRUE(is_ok(pidfd));
  ASSERT_TRUE(wait_readable(pidfd->get(), kLong));
  auto status = try_reap(*child);
  ASSERT_TRUE(is_ok(status));
  ASSERT_TRUE(status->has_value());
  EXPECT_EQ(WEXITSTATUS(**status), 7);
  EXPECT_TRUE(has_error(try_reap(*child), ErrorCode::kSystem));
}

TEST(ProcessTest, ANumberOfAProcessIsItsOwn) {
  auto child = spawn({"sleep", "60"});
  ASSERT_TRUE(is_ok(child));
  const auto self = open_pidfd(::getpid());
  const auto again = open_pidfd(::getpid());
  const auto other = open_pidfd(*child);
  ASSERT_TRUE(is_ok(self));
  ASSERT_TRUE(is_ok(again));
  ASSERT_TRUE(is_ok(other));
  EXPECT_EQ(process_number(self->get()), process_number(again->get()));
  if (process_number(self->get())) {
    EXPECT_NE(process_number(self->get()), process_number(other->get()));
  }
  const auto file = create_event_fd();
  EXPECT_FALSE(process_number(file->get()).has_value());
  EXPECT_TRUE(is_ok(send_signal(other->get(), SIGKILL)));
  ASSERT_TRUE(wait_readable(other->get(), kLong));
  EXPECT_TRUE(is_ok(try_reap(*child)));
}

TEST(ProcessTest, AFailedExecIsAnErrorAndLeavesNoChild) {
  const int before = count_open_fds();
  const auto missing = spawn({"/nonexistent/program"});
  EXPECT_TRUE(has_error(missing, ErrorCode::kSystem));
  EXPECT_EQ(missing.error().sys_errno, ENOENT);
  const auto detached = spawn_detached({"/nonexistent/program"});
  EXPECT_TRUE(has_error(detached, ErrorCode::kSystem));
  EXPECT_EQ(detached.error().sys_errno, ENOENT);
  EXPECT_TRUE(has_error(spawn({}), ErrorCode::kInvalid));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  EXPECT_EQ(count_open_fds(), before);
}

TEST(ProcessTest, ADetachedProgramHasItsOwnSessionAndKeepsOnlyTheDescriptorsNamed) {
  auto sockets = PacketSocket::pair();
  ASSERT_TRUE(is_ok(sockets));
  const int kept = sockets->second.fd();
  const int not_kept = sockets->first.fd();
  const std::string script = "test -e /proc/$$/fd/" + std::to_string(kept) +
                             " && test ! -e /proc/$$/fd/" + std::to_string(not_kept) +
                             " && test \"$(readlink /proc/$$/fd/0)\" = /dev/null"
                             " && printf right >&" +
                             std::to_string(kept) + "; exec sleep 60";
  auto pid = spawn_detached({"bash", "-c", script}, std::span(&kept, 1));
  ASSERT_TRUE(is_ok(pid));
  auto packet = sockets->first.receive(kMaxPacket, kLong);
  EXPECT_NE(::getsid(*pid), ::getsid(0));
  EXPECT_EQ(::waitpid(*pid, nullptr, WNOHANG), -1) << "it is not our child";
  auto pidfd = open_pidfd(*pid);
  ASSERT_TRUE(is_ok(pidfd));
  EXPECT_TRUE(is_ok(send_signal(pidfd->get(), SIGKILL)));
  ASSERT_TRUE(is_ok(packet));
  ASSERT_TRUE(packet->has_value());
  EXPECT_EQ((*packet)->text, "right");
}

// Runs in a process that has every descriptor in use.
bool closes_all_but_those_that_are_kept() {
  constexpr int kMostFds = 64;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  limit.rlim_cur = kMostFds;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  while (::dup(STDERR_FILENO) >= 0) {
  }
  constexpr std::array kKept{-1, 3, 40};
  if (!close_all_but(kKept)) return false;
  for (int fd = 0; fd < kMostFds; ++fd) {
    const bool is_kept = fd <= STDERR_FILENO || fd == 3 || fd == 40;
    if ((::fcntl(fd, F_GETFD) >= 0) != is_kept) return false;
  }
  return true;
}

TEST(ProcessTest, DescriptorsThatAreNotKeptCloseThoughNoneIsFree) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(closes_all_but_those_that_are_kept() ? 0 : 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(ProcessTest, LimitsAndPlaces) {
  EXPECT_TRUE(is_ok(raise_fd_limit()));
  EXPECT_GE(usable_cpus(), 1);
  std::thread([] {
    pin_to_cpu(-1);
    pin_to_cpu(1 << 20);
    yield();
  }).join();
  EXPECT_TRUE(std::filesystem::is_directory(executable_directory()));
}

TEST(LockFileTest, IsHeldOnceAndSaysByWhom) {
  const TemporaryDirectory directory;
  const std::string path = directory / "lock";
  EXPECT_TRUE(has_error(LockFile::read_text(path), ErrorCode::kSystem));
  auto lock = LockFile::acquire(path);
  ASSERT_TRUE(is_ok(lock));
  ASSERT_TRUE(is_ok(lock->write_text("keeper 123456")));
  ASSERT_TRUE(is_ok(lock->write_text("keeper 12")));
  EXPECT_EQ(LockFile::read_text(path).value(), "keeper 12");
  const auto second = LockFile::acquire(path);
  EXPECT_TRUE(has_error(second, ErrorCode::kAlreadyRunning));
  EXPECT_NE(second.error().text.find("keeper 12"), std::string::npos);
  lock->close();
  EXPECT_TRUE(has_error(lock->write_text("x"), ErrorCode::kClosed));
  EXPECT_TRUE(is_ok(LockFile::acquire(path)));
}

TEST(LockFileTest, TravelsWithTheDescriptorAndEndsWithItsLastHolder) {
  const TemporaryDirectory directory;
  const std::string path = directory / "lock";
  auto lock = LockFile::acquire(path);
  ASSERT_TRUE(is_ok(lock));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (;;) ::pause();
  }
  lock->close();
  EXPECT_TRUE(has_error(LockFile::acquire(path), ErrorCode::kAlreadyRunning));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(is_ok(LockFile::acquire(path)));
}

TEST(LockFileTest, DoesNotFollowASymbolicLink) {
  const TemporaryDirectory directory;
  ASSERT_EQ(::symlink("elsewhere", (directory / "lock").c_str()), 0);
  EXPECT_TRUE(has_error(LockFile::acquire(directory / "lock"), ErrorCode::kSystem));
  EXPECT_FALSE(std::filesystem::exists(directory / "elsewhere"));
}

}  // namespace
}  // namespace beeline::os
