// Runs work in a process of its own, and returns its result.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "tests/killpoints/shared.h"
#include "tests/killpoints/sweep.h"

namespace beeline::killpoints {
namespace {

// Seconds; far more than any work takes.
constexpr unsigned kJudgePatience = 60;
constexpr unsigned kPartPatience = 900;

// Empty if the child came to its end.
template <typename Work>
std::string run_apart(unsigned patience, Work&& work) {
  const pid_t child = ::fork();
  if (child < 0) return "no process can be made";
  if (child == 0) {
    ::alarm(patience);
    work();
    ::_exit(0);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) return "I7: it does not come to its end";
  return "it crashes, status " + std::to_string(status);
}

struct FindingBytes {
  char text[320] = {};
  Fates fates{};
};

}  // namespace

std::string try_to(const std::function<void()>& work) {
  try {
    work();
    return {};
  } catch (const RigError& error) {
    return "the rig: " + error.text;
  } catch (const std::exception& error) {
    return std::string("the rig: ") + error.what();
  }
}

Finding judge_apart(const std::function<Finding()>& judge) {
  const Shared<FindingBytes> shared;
  auto failed = run_apart(kJudgePatience, [&] {
    Finding finding;
    const auto wrong = try_to([&] { finding = judge(); });
    if (!wrong.empty()) finding.text = wrong;
    (*shared).fates = finding.fates;
    finding.text.copy((*shared).text, sizeof(FindingBytes::text) - 1);
  });
  if (failed.empty()) failed = (*shared).text;
  return {failed, (*shared).fates};
}

Tally tally_apart(const std::function<Tally()>& part) {
  const Shared<Tally> shared;
  std::string failed = run_apart(kPartPatience, [&] {
    const auto wrong = try_to([&] { *shared = part(); });
    if (!wrong.empty()) (*shared).violate("", "rig", 0, 0, wrong);
  });
  Tally tally = *shared;
  if (!failed.empty()) tally.violate("", "rig", 0, 0, failed);
  return tally;
}

}  // namespace beeline::killpoints
