#include "src/steward/sleep.h"

#include <sys/types.h>

#include <string>

#include <fmt/format.h>

#include "src/os/text_file.h"

namespace beeline::steward {

namespace {

constexpr char kStopped = 'T';
constexpr char kZombie = 'Z';
constexpr char kGone = 'X';

// The letter of the kernel for what the process does; kGone: there is no such process.
char letter_of(pid_t os_pid) {
  const std::string line = os::read_text_file(fmt::format("/proc/{}/stat", os_pid));
  // The name before it may have blanks and brackets.
  const auto name_end = line.rfind(") ");
  return name_end == std::string::npos || name_end + 2 >= line.size() ? kGone : line[name_end + 2];
}

}  // namespace

bool is_asleep(Child& child) {
  if (child.os_pid == 0) return false;
  const char letter = letter_of(child.os_pid);
  // A process stops a little after its signal. Once it has stopped the kernel alone counts: others
  // may wake the process, too.
  if (letter == kStopped || letter == kZombie || letter == kGone) child.is_stopping = false;
  return letter == kStopped || child.is_stopping;
}

std::string_view state_of(Child& child) {
  return is_asleep(child) ? "sleeping" : to_string(child.phase);
}

}  // namespace beeline::steward
