#include "tests/killpoints/neighbour/trial.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <utility>
#include <vector>

#include "src/os/pid_fd.h"
#include "tests/killpoints/killer.h"
#include "tests/support/payload.h"

namespace beeline::killpoints {
namespace {

constexpr int kExitError = 1;
constexpr int kTries = 3;  // for a kill, because the run may end before it

// Memory that all processes share and that is zero.
template <typename T>
T* share(std::size_t count) {
  void* const at =
      ::mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  auto* const first = static_cast<T*>(at);
  for (std::size_t i = 0; i < count; ++i) new (first + i) T();
  return first;
}

template <typename Work>
pid_t start_child(Work&& work) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    work();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "beeline-killpoints-boost: %s\n", error.what());
    ::_exit(kExitError);
  }
  ::_exit(0);
}

enum class VictimEnd : std::uint8_t { kKilled, kOver, kError };

// A process that is killed after this instruction; with 0 it runs to its end.
VictimEnd kill_victim(Queue& queue, Trial& trial, std::uint64_t step) {
  const pid_t victim = start_child([&] {
    try {
      queue.open(trial);
      Killer killer(step);
      std::pair<Queue&, Trial&> both(queue, trial);
      trial.steps = step_through(
          [](void* context) {
            const auto& [its_queue, its_trial] = *static_cast<std::pair<Queue&, Trial&>*>(context);
            its_queue.operate(its_trial);
          },
          &both, killer);
    } catch (const std::exception& error) {
      trial.note(error.what());
      ::_exit(kExitError);
    }
  });
  int status = 0;
  ::waitpid(victim, &status, 0);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return VictimEnd::kKilled;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? VictimEnd::kOver : VictimEnd::kError;
}

// False if the fresh process had to be killed.
bool let_use(Queue& queue, Trial& trial, int patience_ms) {
  const pid_t fresh = start_child([&] { queue.use(trial); });
  const auto pidfd = os::open_pidfd(fresh);
  pollfd end{pidfd ? pidfd->get() : -1, POLLIN, 0};
  const bool has_ended = ::poll(&end, 1, patience_ms) == 1;
  if (!has_ended) ::kill(fresh, SIGKILL);
  ::waitpid(fresh, nullptr, 0);
  return has_ended;
}

// The result of one trial.
struct TrialResult {
  std::uint64_t step;
  bool killed;
  bool hangs;
  bool errs;
  std::uint32_t lost;
  std::uint32_t corrupt;
  char error[160];
};

void judge(const Trial& trial, bool has_ended, TrialResult& result) {
  result.hangs = !has_ended;
  result.errs = has_ended && !trial.complete;
  result.corrupt = trial.corrupt;
  std::copy(std::begin(trial.error), std::end(trial.error), result.error);
  if (!trial.complete) return;  // messages that cannot be reached do not count as lost as well
  for (std::uint32_t message = 0; message < kMessages; ++message) {
    bool must_come = true;
    if (trial.part == Part::kSend && message == kSent) must_come = trial.returned;
    // The caller of a receive that returned has the message.
    if (trial.part == Part::kReceive) {
      must_come = message > kReceived || (message == kReceived && !trial.returned);
    }
    if (must_come && trial.received[message] == 0) ++result.lost;
  }
}

void run_trial(Queue& queue, Trial& trial, int patience_ms, TrialResult& result) {
  queue.prepare(trial);
  const VictimEnd end = kill_victim(queue, trial, result.step);
  const bool has_ended = let_use(queue, trial, patience_ms);
  // An operation is not equally long each time: if it ended before its kill, this was no trial. If
  // it did not even begin, it found the leftovers of an earlier kill.
  result.killed = end != VictimEnd::kOver;
  if (result.killed) judge(trial, has_ended, result);
  if (end == VictimEnd::kError) result.errs = true;
}

// The shortest of a few runs. On a busy machine stepping takes so long that an agent also looks
// after its connection, and that is most of a longer run.
std::uint64_t count_instructions(const Neighbour& neighbour, Part part, std::uint32_t length) {
  constexpr std::size_t kRuns = 9;
  auto* const trials = share<Trial>(kRuns);
  const pid_t worker = start_child([&] {
    const auto queue = neighbour.make(0);
    for (std::size_t i = 0; i < kRuns; ++i) {
      trials[i].part = part;
      trials[i].length = length;
      queue->prepare(trials[i]);
      kill_victim(*queue, trials[i], 0);
      (void)let_use(*queue, trials[i], neighbour.patience_ms);
    }
  });
  ::waitpid(worker, nullptr, 0);
  std::vector<std::uint64_t> steps;
  for (std::size_t i = 0; i < kRuns; ++i) steps.push_back(trials[i].steps);
  const std::uint64_t shortest = *std::min_element(steps.begin(), steps.end());
  if (shortest == 0) {
    throw std::runtime_error(std::string(neighbour.name) + ": " + trials[0].error);
  }
  return shortest;
}

}  // namespace

void Trial::write(std::span<std::byte> payload, std::uint32_t message) const {
  test::write_payload(payload, {message, static_cast<std::uint32_t>(part), number, 0});
}

void Trial::note_received(std::span<const std::byte> payload, bool flagged) {
  const auto head = test::read_payload(payload);
  const bool is_ours = head && payload.size() == length && head->sequence == number &&
                       head->receiver == static_cast<std::uint32_t>(part) &&
                       head->sender < kMessages;
  if (!is_ours || (received[head->sender].fetch_add(1) != 0 && !flagged)) ++corrupt;
}

void Trial::note(const std::string& what) {
  std::fill(std::begin(error), std::end(error), '\0');
  what.copy(error, sizeof(error) - 1);
}

Outcome kill_in(const Neighbour& neighbour, Part part, std::uint32_t length, std::uint64_t stride) {
  Outcome outcome;
  outcome.instructions = count_instructions(neighbour, part, length);
  const std::size_t count = outcome.instructions / stride;
  auto* const results = share<TrialResult>(count + 1);
  auto* const trials = share<Trial>(count + 1);
  auto& next = *share<std::atomic<std::size_t>>(1);
  std::vector<pid_t> workers;
  for (int worker = 0; worker < neighbour.workers; ++worker) {
    workers.push_back(start_child([&] {
      const auto queue = neighbour.make(worker);
      for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
        for (int tried = 0; tried < kTries && !results[i].killed; ++tried) {
          Trial& trial = *new (&trials[i]) Trial();
          trial.number = 1 + i;
          trial.part = part;
          trial.length = length;
          results[i].step = (i + 1) * stride;
          run_trial(*queue, trial, neighbour.patience_ms, results[i]);
        }
      }
    }));
  }
  for (const pid_t worker : workers) ::waitpid(worker, nullptr, 0);
  for (std::size_t i = 0; i < count; ++i) {
    const TrialResult& result = results[i];
    outcome.kills += result.killed ? 1 : 0;
    outcome.hangs += result.hangs ? 1 : 0;
    outcome.errors += result.errs ? 1 : 0;
    outcome.lost += result.lost;
    outcome.corrupt += result.corrupt;
    if (!result.hangs && !result.errs) continue;
    if (outcome.first_error.empty()) outcome.first_error = result.error;
    if (outcome.first_unusable == 0) outcome.first_unusable = result.step;
    outcome.last_unusable = result.step;
  }
  return outcome;
}

}  // namespace beeline::killpoints
