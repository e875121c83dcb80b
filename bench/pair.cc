#include "bench/pair.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "src/os/error.h"
#include "src/os/process.h"

namespace beeline::bench {
namespace {

constexpr unsigned kGraceSeconds = 60;  // of a side beyond its measuring time: attach, limits, load

/// Which core of the machine a CPU is a thread of; the CPU itself where the system does not say.
std::string core_of(int cpu) {
  const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}/topology/", cpu);
  std::string core;
  std::string package;
  std::ifstream(folder + "core_id") >> core;
  std::ifstream(folder + "physical_package_id") >> package;
  return core.empty() ? fmt::format("cpu{}", cpu) : package + ":" + core;
}

[[noreturn]] void run_side(Board& board, Side side, pid_t parent, unsigned seconds,
                           const std::function<Result<void>(Side)>& play) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it ended before we asked
  ::signal(SIGALRM, SIG_DFL);
  ::alarm(seconds);
  const Result<void> done = play(side);
  if (!done) {
    auto& text = board.failure[static_cast<std::size_t>(side)];
    done.error().text.copy(text.data(), text.size() - 1);
  }
  ::_exit(done ? 0 : 1);
}

std::string reason(const Board& board, Side side, int status) {
  const char* const name = side == Side::kPing ? "ping" : "pong";
  const auto& text = board.failure[static_cast<std::size_t>(side)];
  if (text[0] != '\0') return fmt::format("{} side: {}", name, text.data());
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
    return fmt::format("{} side: did not come to an end", name);
  }
  if (WIFSIGNALED(status)) {
    return fmt::format("{} side: killed by signal {}", name, WTERMSIG(status));
  }
  return fmt::format("{} side: ended with {}", name, WEXITSTATUS(status));
}

}  // namespace

Result<SharedBoard> SharedBoard::create() {
  void* const memory =
      ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return os::system_failure("map the memory of the measurement");
  return SharedBoard(new (memory) Board());
}

SharedBoard::SharedBoard(SharedBoard&& other) noexcept
    : board_(std::exchange(other.board_, nullptr)) {}

SharedBoard::~SharedBoard() {
  if (board_ != nullptr) ::munmap(board_, sizeof(Board));
}

void SharedBoard::clear() { new (board_) Board(); }

Cpus default_cpus() {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (::sched_getaffinity(0, sizeof usable, &usable) != 0) return {};
  int first = -1;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(static_cast<std::size_t>(cpu), &usable)) continue;
    if (first < 0) first = cpu;
    if (core_of(cpu) != core_of(first)) return {first, cpu};
  }
  return {std::max(first, 0), std::max(first, 0)};
}

Result<void> pin(int cpu) {
  os::pin_to_cpu(cpu);
  cpu_set_t usable;
  CPU_ZERO(&usable);
  const bool known = ::sched_getaffinity(0, sizeof usable, &usable) == 0;
  if (known && CPU_COUNT(&usable) == 1 && CPU_ISSET(static_cast<std::size_t>(cpu), &usable)) {
    return {};
  }
  return fail(ErrorCode::kInvalid,
              fmt::format("cannot run on CPU {}; choose others with --pin", cpu));
}

void meet(Board& board, Side side, std::uint32_t point) {
  const auto own = static_cast<std::size_t>(side);
  board.reached[own].value.store(point, std::memory_order_release);
  while (board.reached[1 - own].value.load(std::memory_order_acquire) < point) os::yield();
}

Result<void> run_pair(Board& board, double seconds, const std::function<Result<void>(Side)>& play) {
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  const unsigned limit = kGraceSeconds + static_cast<unsigned>(2 * seconds);
  std::array<pid_t, 2> children{0, 0};
  Result<void> result;
  for (const Side side : {Side::kPing, Side::kPong}) {
    const pid_t child = ::fork();
    if (child == 0) run_side(board, side, parent, limit, play);
    if (child < 0) {
      result = os::system_failure("fork");
      break;
    }
    children[static_cast<std::size_t>(side)] = child;
    // A group of their own: we wait for these two, and not for the guard of the hive.
    ::setpgid(child, children[0]);
  }
  for (std::size_t left = 2; left > 0 && children[0] > 0; --left) {
    if (!result) ::kill(-children[0], SIGKILL);
    int status = 0;
    pid_t ended = 0;
    while ((ended = ::waitpid(-children[0], &status, 0)) < 0 && errno == EINTR) {
    }
    if (ended < 0) break;
    const Side side = ended == children[0] ? Side::kPing : Side::kPong;
    if (status != 0 && result) result = fail(ErrorCode::kSystem, reason(board, side, status));
  }
  return result;
}

}  // namespace beeline::bench
