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
#include <chrono>
#include <cstdio>
#include <fstream>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/os/error.h"
#include "src/os/event_fd.h"
#include "src/os/futex.h"
#include "src/os/process.h"

namespace beeline::bench {
namespace {

constexpr unsigned kGraceSeconds = 60;  // for a side beyond its measuring time: attach, limits,
                                        // load

// The core of the machine that a CPU is a thread of; the CPU itself if the system does not say.
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
  if (::getppid() != parent) ::_exit(1);  // the parent ended before we asked
  ::signal(SIGALRM, SIG_DFL);
  ::alarm(seconds);
  const Result<void> done = play(side);
  if (!done) {
    auto& text = board.failure[number_of(side)];
    done.error().text.copy(text.data(), text.size() - 1);
  }
  ::_exit(done ? 0 : 1);
}

std::string reason(const Board& board, Side side, int status) {
  std::string name = side == Side::kPing ? "ping" : "pong";
  if (number_of(side) > 1) name += fmt::format(" {}", number_of(side));
  const auto& text = board.failure[number_of(side)];
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
  auto ping = os::create_event_fd();
  auto pong = os::create_event_fd();
  if (!ping || !pong) {
    ::munmap(memory, sizeof(Board));
    return tl::unexpected(ping ? pong.error() : ping.error());
  }
  SharedBoard board(new (memory) Board(), std::move(*ping), std::move(*pong));
  board.clear();
  return board;
}

SharedBoard::SharedBoard(SharedBoard&& other) noexcept
    : board_(std::exchange(other.board_, nullptr)), events_(std::move(other.events_)) {}

SharedBoard::~SharedBoard() {
  if (board_ != nullptr) ::munmap(board_, sizeof(Board));
}

void SharedBoard::clear(std::size_t members) {
  new (board_) Board();
  board_->members = members;
  for (std::size_t i = 0; i < events_.size(); ++i) {
    (void)os::drain_event(events_[i].get());
    board_->events[i] = events_[i].get();
  }
}

Cpus default_cpus() {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (::sched_getaffinity(0, sizeof usable, &usable) != 0) return {};
  std::vector<int> cpus;
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(static_cast<std::size_t>(cpu), &usable)) continue;
    if (cores.insert(core_of(cpu)).second) cpus.push_back(cpu);
  }
  if (cpus.empty()) return {};
  if (cpus.size() == 1) return {cpus[0], cpus[0]};
  return {cpus[0], cpus[1], {cpus.begin() + 2, cpus.end()}};
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
  board.reached[number_of(side)].value.store(point, std::memory_order_release);
  const auto all_are_here = [&] {
    return std::all_of(
        board.reached.begin(), board.reached.begin() + static_cast<std::ptrdiff_t>(board.members),
        [&](const LoneWord& word) { return word.value.load(std::memory_order_acquire) >= point; });
  };
  if (board.members == 2) {
    while (!all_are_here()) os::yield();
    return;
  }
  auto& arrivals = board.arrivals.value;
  arrivals.fetch_add(1);
  (void)os::futex_wake_all(&arrivals);
  for (;;) {
    const std::uint32_t seen = arrivals.load();
    if (all_are_here()) return;
    (void)os::futex_wait(&arrivals, seen, std::chrono::nanoseconds::max());
  }
}

Result<void> run_pair(Board& board, double seconds, const std::function<Result<void>(Side)>& play) {
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  const unsigned limit = kGraceSeconds + static_cast<unsigned>(2 * seconds);
  std::vector<pid_t> children;
  Result<void> result;
  while (children.size() < board.members) {
    const pid_t child = ::fork();
    if (child == 0) run_side(board, side_of(children.size()), parent, limit, play);
    if (child < 0) {
      result = os::system_failure("fork");
      break;
    }
    children.push_back(child);
    // A group of their own, because we wait for these and not for the guard of the hive.
    ::setpgid(child, children[0]);
  }
  for (std::size_t left = children.size(); left > 0; --left) {
    if (!result) ::kill(-children[0], SIGKILL);
    int status = 0;
    pid_t ended = 0;
    while ((ended = ::waitpid(-children[0], &status, 0)) < 0 && errno == EINTR) {
    }
    if (ended < 0) break;
    const auto at = std::find(children.begin(), children.end(), ended) - children.begin();
    const Side side = side_of(static_cast<std::size_t>(at));
    if (status != 0 && result) result = fail(ErrorCode::kSystem, reason(board, side, status));
  }
  return result;
}

}  // namespace beeline::bench
