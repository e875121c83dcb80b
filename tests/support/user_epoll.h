#pragma once
// The loop of a user: epoll, level or edge triggered, and a look of the agent before each wait.

#include <sys/epoll.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include <beeline/agent.h>

#include "src/os/fd.h"
#include "tests/support/hive_test.h"

namespace beeline::test {

class UserEpoll {
 public:
  explicit UserEpoll(bool edge) : edge_(edge), fd_(::epoll_create1(EPOLL_CLOEXEC)) {}
  UserEpoll(int fd, bool edge) : UserEpoll(edge) { add(fd); }
  void add(int fd) {
    epoll_event event{};
    event.events = EPOLLIN | (edge_ ? EPOLLET : 0U);
    EXPECT_EQ(::epoll_ctl(fd_.get(), EPOLL_CTL_ADD, fd, &event), 0);
  }
  // False at the deadline.
  bool wait(Deadline until) {
    const auto left = until - std::chrono::steady_clock::now();
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    epoll_event event{};
    const auto most = static_cast<int>(std::clamp<std::int64_t>(ms, 0, 60'000));
    return ::epoll_wait(fd_.get(), &event, 1, most) == 1;
  }

 private:
  bool edge_;
  os::UniqueFd fd_;
};

// Polls and waits until `is_over(report)`. Fails the test at the deadline.
template <typename IsOver>
void loop_until(Agent& agent, UserEpoll& epoll, Deadline end, IsOver&& is_over) {
  for (;;) {
    const Readiness found = agent.loop().poll();
    if (is_over(found)) return;
    ASSERT_LT(std::chrono::steady_clock::now(), end) << "the loop is not told";
    epoll.wait(std::min(found.next, end));
  }
}

template <typename IsOver>
void loop_until(Agent& agent, UserEpoll& epoll, IsOver&& is_over) {
  loop_until(agent, epoll, patience(), is_over);
}

}  // namespace beeline::test
