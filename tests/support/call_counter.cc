#include "tests/support/call_counter.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <thread>

namespace beeline::test {
namespace {

std::atomic<std::uint32_t> trapped{0};

// The call fails with EAGAIN. Otherwise it would return its own number, which looks like success to
// the caller.
void note_call(int /*signal*/, siginfo_t* /*info*/, void* context) {
  trapped.fetch_add(1);
#if defined(__x86_64__)
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RAX] = -EAGAIN;
#else
  (void)context;
#endif
}

constexpr std::array kLetThrough{SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_sigaltstack, SYS_exit,
                                 SYS_exit_group,   SYS_madvise,        SYS_munmap,      SYS_mmap};

// Traps the calls of this thread only.
bool trap_all_calls() {
  std::array<sock_filter, 2 * kLetThrough.size() + 2> filter{};
  std::size_t at = 0;
  filter[at++] = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
  for (const auto number : kLetThrough) {
    filter[at++] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 1);
    filter[at++] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  }
  filter[at++] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
  const sock_fprog program{static_cast<unsigned short>(at), filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

std::optional<std::uint32_t> count_system_calls(const std::function<void()>& body) {
  struct sigaction count {};
  count.sa_sigaction = note_call;
  count.sa_flags = SA_SIGINFO;
  struct sigaction before {};
  if (::sigaction(SIGSYS, &count, &before) != 0) return std::nullopt;
  std::optional<std::uint32_t> calls;
  std::thread([&] {
    if (!trap_all_calls()) return;
    trapped.store(0);
    body();
    calls = trapped.load();
  }).join();
  ::sigaction(SIGSYS, &before, nullptr);
  return calls;
}

}  // namespace beeline::test
