#include "tools/beeline/demo/python_worker.h"

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <system_error>

#include "src/os/event_fd.h"
#include "src/os/pid_fd.h"
#include "src/os/process.h"

namespace beeline::cli::demo {
namespace {

constexpr std::chrono::nanoseconds kProbeTime = std::chrono::seconds(30);

// Below the folder of this program: in the build tree, in a wheel, installed.
constexpr const char* kPlaces[] = {"../python", "../..", "../lib/python3/dist-packages"};

bool can_load(const std::string& folder) {
  const auto probe = os::spawn({"/bin/sh", "-c",
                                "PYTHONPATH=$0 exec python3 -B -c 'import beeline._demo_worker' "
                                ">/dev/null 2>&1",
                                folder},
                               {});
  if (!probe) return false;
  const auto pidfd = os::open_pidfd(*probe);
  if (!pidfd || !os::wait_readable(pidfd->get(), kProbeTime)) (void)::kill(*probe, SIGKILL);
  const auto status = os::try_reap(*probe);
  return status && *status && **status == 0;
}

}  // namespace

std::string find_python_package() {
  for (const char* place : kPlaces) {
    std::error_code error;
    const auto folder = std::filesystem::path(os::executable_directory()) / place;
    if (!std::filesystem::exists(folder / "beeline" / "_core.abi3.so", error)) continue;
    if (can_load(folder.string())) return folder.string();
  }
  return {};
}

SpawnOptions child_in_python(const RoleArguments& worker) {
  SpawnOptions options = child_of_role(worker);
  options.command = {"python3", "-B", "-m", "beeline._demo_worker", worker.name, worker.events};
  options.environment["PYTHONPATH"] = worker.python;
  return options;
}

}  // namespace beeline::cli::demo
