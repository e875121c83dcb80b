#include "tests/support/troupe.h"

#include <signal.h>
#include <sys/wait.h>

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "src/os/event_fd.h"
#include "src/os/pid_fd.h"
#include "src/os/process.h"

namespace beeline::test {

std::ostream& operator<<(std::ostream& out, World world) {
  return out << (world == World::kThreads ? "threads" : "processes");
}

Troupe::~Troupe() {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i]->os_pid != 0) kill(i);
    if (members_[i]->thread.joinable()) members_[i]->thread.join();
  }
}

std::size_t Troupe::start(const std::string& role, std::uint32_t number) {
  auto member = std::make_unique<Member>();
  member->role = role;
  member->number = number;
  launch(*member);
  members_.push_back(std::move(member));
  return members_.size() - 1;
}

void Troupe::restart(std::size_t place) { launch(*members_[place]); }

void Troupe::launch(Member& member) {
  if (world_ == World::kThreads) {
    const RoleFunction function = find_role(member.role);
    ASSERT_NE(function, nullptr) << "no role " << member.role;
    std::packaged_task<void()> task([function, this, number = member.number] {
      function({*memory_, number});
    });
    member.end = task.get_future();
    member.thread = std::thread(std::move(task));
    return;
  }
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::array<int, 1> keep{memory_->fd()};
  const RoleCommand command{member.role, member.number, memory_->fd(), memory_->size()};
  const auto child = os::spawn({self, "--role", to_argument(command)}, keep);
  ASSERT_TRUE(child) << child.error().text;
  member.os_pid = *child;
  auto pidfd = os::open_pidfd(*child);
  ASSERT_TRUE(pidfd) << pidfd.error().text;
  member.pidfd = std::move(*pidfd);
}

void Troupe::wait(std::size_t place, Deadline deadline) {
  Member& member = *members_[place];
  if (world_ == World::kProcesses) return await_process(member, deadline);
  if (!member.thread.joinable()) return;
  if (member.end.wait_until(deadline) == std::future_status::timeout) {
    ADD_FAILURE() << "role " << member.role << " " << member.number << " did not end in time";
    return;  // joined by the destructor, or ended by the watchdog
  }
  member.thread.join();
}

void Troupe::await_process(Member& member, Deadline deadline) {
  if (member.os_pid == 0) return;
  const auto left = deadline - std::chrono::steady_clock::now();
  if (!os::wait_readable(member.pidfd.get(), left)) {
    ADD_FAILURE() << "role " << member.role << " " << member.number << " did not end in time";
    ::kill(member.os_pid, SIGKILL);
  }
  int status = 0;
  while (::waitpid(member.os_pid, &status, 0) < 0 && errno == EINTR) {
  }
  member.os_pid = 0;
  member.pidfd.reset();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
      << "role " << member.role << " " << member.number << " ended with wait status " << status;
}

void Troupe::wait_all(Deadline deadline) {
  for (std::size_t i = 0; i < members_.size(); ++i) wait(i, deadline);
}

void Troupe::kill(std::size_t place) {
  Member& member = *members_[place];
  if (member.os_pid == 0) return;
  ::kill(member.os_pid, SIGKILL);
  while (::waitpid(member.os_pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  member.os_pid = 0;
  member.pidfd.reset();
}

int Troupe::reap(std::size_t place) {
  Member& member = *members_[place];
  int status = 0;
  if (member.os_pid == 0 || ::waitpid(member.os_pid, &status, WNOHANG) != member.os_pid) return -1;
  member.os_pid = 0;
  member.pidfd.reset();
  return status;
}

}  // namespace beeline::test
