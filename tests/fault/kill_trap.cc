// Loaded into a delivered program (LD_PRELOAD), it counts the system calls and the stores into
// segments, and kills the process with SIGKILL as its order says (kill_order.h).
//
// calls   a seccomp filter turns each into SIGSYS; the handler makes it in the place of the
// program. Let through: new processes, exec and exit, and calls about signals alone.
// stores  segments that the process maps writable are protected. A store is a SIGSEGV; the
// handler opens the segment for this one instruction, which the trap flag ends.
//
// An instruction that repeats itself (rep movsb) is an event at each repetition.

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "tests/fault/kill_order.h"

// The one system call that the filter lets through; its end is known by its address.
asm(R"(
.text
.hidden beeline_trap_call
.hidden beeline_trap_called
.globl beeline_trap_call
.globl beeline_trap_called
beeline_trap_call:
  mov %rdi, %rax
  mov %rsi, %rdi
  mov %rdx, %rsi
  mov %rcx, %rdx
  mov %r8, %r10
  mov %r9, %r8
  mov 8(%rsp), %r9
  syscall
beeline_trap_called:
  ret
)");
extern "C" long beeline_trap_call(long number, long, long, long, long, long, long);
extern "C" const char beeline_trap_called[];

namespace beeline::test {
namespace {

constexpr greg_t kTrapFlag = 0x100;
constexpr std::size_t kMostSegments = 2048;  // a link is mapped in parts

struct Segment {
  std::uintptr_t begin = 0;  // 0: a free place
  std::size_t size = 0;
  bool open = false;  // for the present instruction
  std::array<char, 128> name{};
};

KillOrder* g_order = nullptr;
std::array<Segment, kMostSegments> g_segments;

long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  return beeline_trap_call(number, a, b, c, d, e, f);
}

template <std::size_t kSize>
[[noreturn]] void give_up(const char (&text)[kSize]) {
  (void)call(SYS_write, STDERR_FILENO, reinterpret_cast<long>(text), kSize - 1);
  (void)call(SYS_exit_group, 125);
  __builtin_trap();
}

void protect(const Segment& segment, int how) {
  if (call(SYS_mprotect, static_cast<long>(segment.begin), static_cast<long>(segment.size), how) !=
      0) {
    give_up("kill_trap: cannot change the protection of a segment\n");
  }
}

// Dies here if the order says so. `segment` is null for a call.
void meet_event(const Segment* segment, long number_or_offset) {
  KillOrder& order = *g_order;
  if (order.armed.load() == 0) return;
  const auto self = static_cast<std::int32_t>(call(SYS_getpid));
  const std::int32_t process = order.process.load();
  if (process != 0 ? process != self : order.spared.load() == self) return;
  auto& count = segment == nullptr ? order.calls : order.stores;
  count.fetch_add(1);
  if (order.killed.load() != 0 || order.calls.load() + order.stores.load() != order.at.load()) {
    return;
  }
  order.call = segment == nullptr ? number_or_offset : -1;
  if (segment != nullptr) {
    order.offset = static_cast<std::uint64_t>(number_or_offset);
    std::memcpy(order.segment, segment->name.data(), segment->name.size());
  }
  order.killed.store(self);
  (void)call(SYS_kill, self, SIGKILL);
}

// Remembers and protects a mapping of a segment.
void note_segment(std::uintptr_t begin, std::size_t size, const std::array<char, 128>& name) {
  for (Segment& place : g_segments) {
    if (place.begin != 0) continue;
    place = {begin, size, false, name};
    return protect(place, PROT_READ);
  }
  give_up("kill_trap: too many segments\n");
}

// The same if the file is a segment.
void note_mapping(std::uintptr_t begin, std::size_t size, int fd) {
  std::array<char, 32> path{};
  std::array<char, 128> name{};
  std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", fd);
  if (call(SYS_readlinkat, AT_FDCWD, reinterpret_cast<long>(path.data()),
           reinterpret_cast<long>(name.data()), name.size() - 1) <= 0) {
    return;
  }
  const std::string_view text(name.data());
  if (!text.starts_with("/memfd:beeline-") || text.starts_with("/memfd:beeline-test-board")) return;
  note_segment(begin, size, name);
}

// A second mapping of a part of a segment (os::Mapping::duplicate).
void note_duplicate(std::uintptr_t of, std::uintptr_t begin, std::size_t size) {
  for (const Segment& each : g_segments) {
    if (each.begin == 0 || of < each.begin || of - each.begin >= each.size) continue;
    return note_segment(begin, size, each.name);
  }
}

void forget_mapping(std::uintptr_t begin, std::size_t size) {
  const std::uintptr_t end = begin + size;
  for (Segment& each : g_segments) {
    if (each.begin == 0 || each.begin >= end || begin >= each.begin + each.size) continue;
    const std::uintptr_t each_end = each.begin + each.size;
    if (begin <= each.begin && end < each_end) {
      each.begin = end;  // its head alone
      each.size = each_end - end;
    } else {
      each = {};
    }
  }
}

void on_call(int /*signal*/, siginfo_t* /*info*/, void* context) {
  auto& r = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const long number = r[REG_RAX];
  meet_event(nullptr, number);
  const long result =
      call(number, r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8], r[REG_R9]);
  const bool failed = result < 0 && result > -4096;
  const bool is_shared_write = (r[REG_RDX] & PROT_WRITE) != 0 && (r[REG_R10] & MAP_SHARED) != 0;
  if (number == SYS_mmap && !failed && is_shared_write && static_cast<int>(r[REG_R8]) >= 0) {
    note_mapping(static_cast<std::uintptr_t>(result), static_cast<std::size_t>(r[REG_RSI]),
                 static_cast<int>(r[REG_R8]));
  } else if (number == SYS_mremap && !failed && r[REG_RSI] == 0) {
    note_duplicate(static_cast<std::uintptr_t>(r[REG_RDI]), static_cast<std::uintptr_t>(result),
                   static_cast<std::size_t>(r[REG_RDX]));
  } else if (number == SYS_munmap && !failed) {
    forget_mapping(static_cast<std::uintptr_t>(r[REG_RDI]), static_cast<std::size_t>(r[REG_RSI]));
  }
  r[REG_RAX] = result;
}

void on_store(int /*signal*/, siginfo_t* info, void* context) {
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  auto& flags = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL];
  for (Segment& each : g_segments) {
    if (each.begin == 0 || at < each.begin || at - each.begin >= each.size || each.open) continue;
    // One instruction may store into two segments.
    if ((flags & kTrapFlag) == 0) meet_event(&each, static_cast<long>(at - each.begin));
    each.open = true;
    protect(each, PROT_READ | PROT_WRITE);
    flags |= kTrapFlag;
    return;
  }
  // A fault of the program itself: it comes again, and ends the program.
  (void)::signal(SIGSEGV, SIG_DFL);
}

void on_stored(int /*signal*/, siginfo_t* /*info*/, void* context) {
  for (Segment& each : g_segments) {
    if (!each.open) continue;
    each.open = false;
    protect(each, PROT_READ);
  }
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
}

void handle(int number, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  if (::sigaction(number, &action, nullptr) != 0) give_up("kill_trap: no handler\n");
}

constexpr sock_filter statement(unsigned code, unsigned value) {
  return {static_cast<std::uint16_t>(code), 0, 0, value};
}
constexpr sock_filter jump(unsigned value, std::size_t yes, std::size_t no) {
  return {BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint8_t>(yes), static_cast<std::uint8_t>(no),
          value};
}

void install_filter() {
  // The handler cannot make these in the place of the program.
  constexpr std::array kThrough = {
      SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_sigaltstack, SYS_clone, SYS_clone3,
      SYS_fork,         SYS_vfork,          SYS_execve,      SYS_exit,  SYS_exit_group};
  constexpr std::size_t kCount = kThrough.size();
  const auto allowed = reinterpret_cast<std::uintptr_t>(beeline_trap_called);
  std::array<sock_filter, kCount + 7> filter{};
  std::size_t at = 0;
  filter[at++] = statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
  for (std::size_t i = 0; i < kCount; ++i) {
    filter[at++] = jump(static_cast<unsigned>(kThrough[i]), kCount - i - 1 + 5, 0);
  }
  constexpr std::size_t kPointer = offsetof(seccomp_data, instruction_pointer);
  filter[at++] = statement(BPF_LD | BPF_W | BPF_ABS, kPointer);
  filter[at++] = jump(static_cast<unsigned>(allowed), 0, 2);
  filter[at++] = statement(BPF_LD | BPF_W | BPF_ABS, kPointer + 4);
  filter[at++] = jump(static_cast<unsigned>(allowed >> 32), 1, 0);
  filter[at++] = statement(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
  filter[at++] = statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const sock_fprog program{static_cast<unsigned short>(at), filter.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    give_up("kill_trap: no seccomp filter\n");
  }
}

[[gnu::constructor]] void set_trap() {
  const char* const path = std::getenv(kKillOrderVariable);
  if (path == nullptr) return;
  const int fd = ::open(path, O_RDWR | O_CLOEXEC);
  void* const memory =
      ::mmap(nullptr, sizeof(KillOrder), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd < 0 || memory == MAP_FAILED) give_up("kill_trap: the order cannot be read\n");
  (void)::close(fd);
  g_order = static_cast<KillOrder*>(memory);
  handle(SIGSYS, on_call);
  handle(SIGSEGV, on_store);
  handle(SIGTRAP, on_stored);
  install_filter();
}

}  // namespace
}  // namespace beeline::test
