#include "tests/killpoints/stepper.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace beeline::killpoints {
namespace {

// The receiver runs whole operations on it while the sender stands still in the handler.
constexpr std::size_t kStackBytes = 1 << 20;

StepObserver* g_observer = nullptr;
std::uint64_t g_steps = 0;
bool g_stop = false;
constexpr greg_t kTrapFlag = 0x100;

void on_trap(int /*signal*/, siginfo_t* /*info*/, void* context) {
  const int sys_errno = errno;  // of a system call, because the next instruction may read it
  auto* machine = static_cast<ucontext_t*>(context);
  g_observer->after(++g_steps, static_cast<std::uintptr_t>(machine->uc_mcontext.gregs[REG_RIP]));
  if (g_stop) machine->uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
  errno = sys_errno;
}

}  // namespace

void install_stepper() {
  stack_t stack{};
  stack.ss_size = kStackBytes;
  stack.ss_sp = ::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  struct sigaction action {};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  if (stack.ss_sp == MAP_FAILED || ::sigaltstack(&stack, nullptr) != 0 ||
      ::sigaction(SIGTRAP, &action, nullptr) != 0) {
    std::perror("beeline-killpoints: cannot install the handler of SIGTRAP");
    std::exit(2);
  }
}

void stop_stepping() { g_stop = true; }

// SUBTLE: not inlined, so that the pushes below meet no red zone of a leaf function.
[[gnu::noinline]] std::uint64_t step_through(void (*call)(void*), void* context,
                                             StepObserver& observer) {
  g_observer = &observer;
  g_steps = 0;
  g_stop = false;
  observer.start();
  asm volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
  call(context);
  asm volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
  observer.finish(g_steps);
  return g_steps;
}

}  // namespace beeline::killpoints
