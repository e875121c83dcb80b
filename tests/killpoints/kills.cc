// Real kills: a process steps through the operation on the real segments and sends itself SIGKILL.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "tests/killpoints/killer.h"
#include "tests/killpoints/rig_clock.h"
#include "tests/killpoints/sweep.h"

namespace beeline::killpoints {
namespace {

// Which instructions: all of a short operation; of a long one as many, spread evenly.
std::vector<std::uint64_t> chosen(std::uint64_t steps, const Effort& effort) {
  std::uint64_t count = steps;
  if (steps > effort.kill_all_below) {
    count = std::clamp<std::uint64_t>(effort.kill_steps * 2 / steps, 2, effort.kills);
  }
  std::vector<std::uint64_t> chosen;
  for (std::uint64_t i = 0; i < count; ++i) chosen.push_back(1 + i * steps / count);
  return chosen;
}

// A child steps through the operation; how it ended. All children start alike, to the last byte of
// their stack and heap.
int step_in_child(Rig& rig, const Operation& operation, StepObserver& observer) {
  const pid_t child = ::fork();
  if (child == 0) {
    step_through(operation, rig, observer);
    ::_exit(0);
  }
  int status = -1;
  if (child > 0) ::waitpid(child, &status, 0);
  return status;
}

}  // namespace

Tally kill_in_scenario(const Scenario& scenario, const Effort& effort) {
  Tally tally;
  const double start = cpu_seconds();
  const auto rig = arrange(scenario);
  const Image own = image_of_actor(*rig, scenario.operation->actor);
  const Image all = rig->world.image();
  const auto initial = all.saved();
  StateRecorder recorder(own);
  step_in_child(*rig, *scenario.operation, recorder);
  const Fates before = rig->ledger.fates();
  const bool sender_died = scenario.operation->actor == Actor::kSender;
  for (const std::uint64_t step : chosen(recorder.steps(), effort)) {
    all.load(initial.data());
    own.load(recorder.bytes(0));
    Killer killer(step);
    const int status = step_in_child(*rig, *scenario.operation, killer);
    std::string wrong;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
      ++tally.kills;
    } else if (!WIFEXITED(status)) {
      wrong = "it crashes, status " + std::to_string(status);
    }
    // What the sweep has judged is what a kill leaves. The allocator may take a few instructions
    // more or less than it did there.
    if (wrong.empty() && !recorder.knows(own)) {
      wrong = "the kill has left a state that the sweep has not seen";
    }
    if (wrong.empty() && scenario.operation->actor != Actor::kCoordinator) {
      wrong = judge_next_receiver(*rig, before, !sender_died).text;
    }
    if (!wrong.empty()) {
      const State& state = recorder.state(recorder.at_step(step));
      tally.violate(scenario.name, "real kill", step, state.at, wrong);
    }
  }
  tally.seconds = cpu_seconds() - start;
  return tally;
}

}  // namespace beeline::killpoints
