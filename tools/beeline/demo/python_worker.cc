#include "tools/beeline/demo/python_worker.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "src/os/process.h"

namespace beeline::cli::demo {
namespace {

constexpr std::chrono::nanoseconds kProbeTime = std::chrono::seconds(5);

// Below the folder of this program: in the build tree, in a wheel, installed.
constexpr const char* kPlaces[] = {"../python", "../..", "../lib/python3/dist-packages"};

bool can_load(const std::string& folder) {
  const auto probe = os::spawn({"/bin/sh", "-c",
                                "PYTHONPATH=$0 exec python3 -B -c 'import beeline._demo_worker' "
                                ">/dev/null 2>&1",
                                folder},
                               {});
  if (!probe) return false;
  const auto status = await_exit(*probe, kProbeTime);
  if (!status) (void)::kill(*probe, SIGKILL);
  return status && *status == 0;
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

Result<pid_t> start_python_worker(const RoleArguments& worker) {
  const int keep[] = {worker.events};
  return os::spawn(
      {"/bin/sh", "-c", "PYTHONPATH=$0 exec python3 -B -m beeline._demo_worker \"$@\"",
       worker.python, worker.name, fmt::format("{}", worker.events), fmt::format("{}", ::getpid())},
      keep);
}

}  // namespace beeline::cli::demo
