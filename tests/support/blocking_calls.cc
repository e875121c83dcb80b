#include "tests/support/blocking_calls.h"

#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <ctime>
#include <exception>
#include <string_view>
#include <thread>

#include "src/os/fd.h"

namespace beeline::test {
namespace {

struct Call {
  int number;
  std::string_view name;
};

// The calls in which a thread of Beeline could wait; its sockets do not block.
constexpr std::array kCalls = {
    Call{SYS_ppoll, "ppoll"},
    Call{SYS_pselect6, "pselect6"},
    Call{SYS_epoll_pwait, "epoll_pwait"},
    Call{SYS_futex, "futex"},
    Call{SYS_nanosleep, "nanosleep"},
    Call{SYS_clock_nanosleep, "clock_nanosleep"},
    Call{SYS_wait4, "wait4"},
    Call{SYS_waitid, "waitid"},
    Call{SYS_flock, "flock"},
#if defined(__x86_64__)
    Call{SYS_poll, "poll"},
    Call{SYS_select, "select"},
    Call{SYS_epoll_wait, "epoll_wait"},
    Call{SYS_pause, "pause"},
#endif
};

// Puts the calling thread under a filter that asks about these calls. The listener's descriptor, or
// -1.
int install() {
  std::array<sock_filter, 2 * kCalls.size() + 2> filter{};
  std::size_t at = 0;
  filter[at++] = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
  for (const Call& call : kCalls) {
    filter[at++] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call.number), 0, 1);
    filter[at++] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
  }
  filter[at++] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const sock_fprog program{static_cast<unsigned short>(at), filter.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return static_cast<int>(
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
}

// The thread is stopped in the call, and its memory is ours.
bool may_wait(const seccomp_data& data) {
  const auto has_no_timeout = [](std::uint64_t address) {
    const auto* limit = reinterpret_cast<const timespec*>(address);
    return limit != nullptr && limit->tv_sec == 0 && limit->tv_nsec == 0;
  };
  switch (data.nr) {
    case SYS_ppoll:
      return !has_no_timeout(data.args[2]);
    case SYS_epoll_pwait:
      return static_cast<int>(data.args[3]) != 0;
    case SYS_futex:
      return static_cast<int>(data.args[1]) ==
             FUTEX_WAIT;  // the locks of the C library are private
#if defined(__x86_64__)
    case SYS_poll:
      return static_cast<int>(data.args[2]) != 0;
    case SYS_epoll_wait:
      return static_cast<int>(data.args[3]) != 0;
#endif
    default:
      return true;
  }
}

void note(BlockingCalls& counted, int number) {
  for (const Call& call : kCalls) {
    if (call.number != number) continue;
    if (call.name.starts_with("epoll_")) {
      ++counted.epoll_waits;
    } else {
      counted.others.emplace_back(call.name);
    }
  }
}

// Lets every call go on, until nobody is left under the filter.
void serve(int listener, pid_t watched, const std::atomic<bool>& on, BlockingCalls& counted) {
  for (;;) {
    pollfd entry{listener, POLLIN, 0};
    if (::poll(&entry, 1, -1) < 0 && errno != EINTR) std::terminate();
    if ((entry.revents & POLLIN) == 0) {
      if ((entry.revents & POLLHUP) != 0) return;
      continue;
    }
    seccomp_notif request{};
    if (::ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) != 0) continue;  // it was killed
    const bool counts = on.load() && static_cast<pid_t>(request.pid) == watched;
    const bool is_noted = counts && may_wait(request.data);
    seccomp_notif_resp answer{};
    answer.id = request.id;
    answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    (void)::ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
    // After the answer: the stopped thread may hold a lock of the allocator.
    if (is_noted) note(counted, request.data.nr);
  }
}

}  // namespace

std::optional<BlockingCalls> count_blocking_calls(const std::function<void()>& body) {
  constexpr int kNone = -2;
  BlockingCalls counted;
  std::atomic<bool> on{false};
  std::atomic<pid_t> thread{0};
  std::atomic<int> begun{kNone};  // the listener
  std::atomic<bool> is_served{false};
  // Before the filter is there: under the address sanitizer the start of a thread takes locks, and
  // the thread under the filter could be stopped while it holds one.
  std::thread server([&] {
    is_served.store(true);
    while (begun.load() == kNone) std::this_thread::yield();
    if (begun.load() >= 0) serve(begun.load(), thread.load(), on, counted);
  });
  std::thread runner([&] {
    thread.store(::gettid());
    while (!is_served.load()) std::this_thread::yield();
    const int listener = install();
    // SUBTLE: a store alone. A wake-up would wait for a listener that is not served yet.
    begun.store(listener);
    if (listener < 0) return;
    on.store(true);
    body();
    on.store(false);
  });
  runner.join();
  server.join();
  if (begun.load() < 0) return std::nullopt;
  ::close(begun.load());
  return counted;
}

}  // namespace beeline::test
