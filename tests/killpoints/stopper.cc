#include "tests/killpoints/stopper.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tests/killpoints/apart_heap.h"

namespace beeline::killpoints {
namespace {

constexpr unsigned kPatience = 60;  // seconds; far more than any child takes

}  // namespace

Stopper::Stopper(const Image& all, std::string name, const char* kind, Tally& tally)
    : all_(all), name_(std::move(name)), kind_(kind), tally_(tally), kept_(all.bytes()) {}

void Stopper::start() { consider(0, 0); }

void Stopper::after(std::uint64_t step, std::uintptr_t at) {
  if (is_child_) return stop_stepping();
  consider(step, at);
}

void Stopper::finish(std::uint64_t steps) {
  if (is_child_) return;
  tally_.pause_points += steps + 1;
  if (is_chosen_at_end()) stop(steps, 0);
}

void Stopper::consider(std::uint64_t step, std::uintptr_t at) {
  if (is_chosen(step, at)) stop(step, at);
}

void Stopper::stop(std::uint64_t step, std::uintptr_t at) {
  all_.save(kept_.data());
  verdict_->wrong[0] = 0;
  before_child();
  const pid_t child = ::_Fork();
  if (child == 0) {
    is_child_ = true;
    ::alarm(kPatience);
    stop_stepping();
    const ApartHeap heap;  // the operation may stand in the middle of an allocation
    failed_ = try_to([&] { run_other_end(); });
    return;
  }
  int status = -1;
  if (child > 0) ::waitpid(child, &status, 0);
  note_end(status, step, at);
  all_.load(kept_.data());
  after_child();
  ++tally_.pauses;
}

void Stopper::note_end(int status, std::uint64_t step, std::uintptr_t at) {
  const char* wrong = verdict_->wrong;
  if (WIFSIGNALED(status)) {
    wrong = WTERMSIG(status) == SIGALRM ? "I7: it does not come to its end" : "it crashes";
  } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    wrong = "the rig: no process can be made, or it ends early";
  }
  if (wrong[0] != 0) tally_.violate(name_.c_str(), kind_, step, at, wrong);
}

void Stopper::end(const std::function<std::string()>& judge) {
  std::string wrong = failed_;
  if (wrong.empty()) {
    const std::string failed = try_to([&] { wrong = judge(); });
    if (!failed.empty()) wrong = failed;
  }
  const std::size_t length = wrong.copy(verdict_->wrong, sizeof(Verdict::wrong) - 1);
  verdict_->wrong[length] = 0;
  ::_exit(0);
}

}  // namespace beeline::killpoints
