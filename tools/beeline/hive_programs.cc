#include "tools/beeline/hive_programs.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/os/event_fd.h"
#include "src/os/fd.h"
#include "src/os/pid_fd.h"
#include "tools/beeline/command_guard.h"
#include "tools/beeline/process_state.h"

namespace beeline::cli {
namespace {

namespace fs = std::filesystem;
using ProgramClock = std::chrono::steady_clock;

// Patience after SIGKILL, until the process has ended.
constexpr std::chrono::seconds kKillPatience(5);

bool has_variable(const fs::path& process, const std::string& variable) {
  std::ifstream file(process / "environ", std::ios::binary);
  const std::string environment{std::istreambuf_iterator<char>(file), {}};
  return ('\0' + environment).find('\0' + variable + '\0') != std::string::npos;
}

bool is_guard(const fs::path& process) {
  std::string name;
  std::getline(std::ifstream(process / "comm"), name);
  return name == kGuardName;
}

// The processes that we may inspect, without this one.
std::vector<os::UniqueFd> programs_of(const std::string& directory, bool with_guards = true) {
  std::vector<os::UniqueFd> found;
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return found;
  for (const pid_t pid : all_processes()) {
    if (pid == ::getpid()) continue;
    auto pidfd = os::open_pidfd(pid);  // open it first: everything read after it is about this
                                       // process or fails
    if (!pidfd) continue;
    const fs::path process = fmt::format("/proc/{}", pid);
    std::error_code unseen;
    if (fs::read_symlink(process / "exe", unseen) != self) continue;
    if (!has_variable(process, "BEELINE_DIR=" + directory)) continue;
    if (with_guards || !is_guard(process)) found.push_back(std::move(*pidfd));
  }
  return found;
}

// False if one is still there at the end.
bool wait_for_programs(const std::string& directory, ProgramClock::time_point end) {
  // A process may have started another one meanwhile.
  for (auto programs = programs_of(directory); !programs.empty();
       programs = programs_of(directory)) {
    for (const os::UniqueFd& program : programs) {
      const auto left = end - ProgramClock::now();
      if (!os::wait_readable(program.get(), left) && ProgramClock::now() >= end) return false;
    }
  }
  return true;
}

}  // namespace

bool outlive_programs(const std::string& directory, std::chrono::seconds patience) {
  if (wait_for_programs(directory, ProgramClock::now() + patience)) return true;
  // Guards come last: each kills the rest of its command as soon as its parent has ended.
  for (const bool with_guards : {false, true}) {
    for (const os::UniqueFd& program : programs_of(directory, with_guards)) {
      (void)os::send_signal(program.get(), SIGKILL);
    }
    if (wait_for_programs(directory, ProgramClock::now() + kKillPatience)) return true;
  }
  return false;
}

}  // namespace beeline::cli
