#include "tools/beeline/hive_programs.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>
#include <vector>

#include "src/os/event_fd.h"
#include "src/os/fd.h"
#include "src/os/pid_fd.h"

namespace beeline::cli {
namespace {

namespace fs = std::filesystem;
using ProgramClock = std::chrono::steady_clock;

// For what is killed to end.
constexpr std::chrono::seconds kKillPatience(5);

bool has_variable(const fs::path& process, const std::string& variable) {
  std::ifstream file(process / "environ", std::ios::binary);
  const std::string environment{std::istreambuf_iterator<char>(file), {}};
  return ('\0' + environment).find('\0' + variable + '\0') != std::string::npos;
}

/// Those that we may look at; ourselves not among them.
std::vector<os::UniqueFd> programs_of(const std::string& directory) {
  std::vector<os::UniqueFd> found;
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return found;
  fs::directory_iterator entry("/proc", error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename();
    pid_t pid = 0;
    const auto number = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (number.ec != std::errc() || number.ptr != name.data() + name.size()) continue;
    std::error_code unseen;
    if (pid == ::getpid() || fs::read_symlink(entry->path() / "exe", unseen) != self) continue;
    auto pidfd = os::open_pidfd(pid);
    if (pidfd && has_variable(entry->path(), "BEELINE_DIR=" + directory)) {
      found.push_back(std::move(*pidfd));
    }
  }
  return found;
}

/// False if one is still there at the end.
bool wait_for_programs(const std::string& directory, ProgramClock::time_point end) {
  // One may have started another one meanwhile.
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
  for (const os::UniqueFd& program : programs_of(directory)) {
    (void)os::send_signal(program.get(), SIGKILL);
  }
  return wait_for_programs(directory, ProgramClock::now() + kKillPatience);
}

}  // namespace beeline::cli
