#include "bench/machine.h"

#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>

#include <beeline/version.h>
#include <fmt/format.h>

#include "src/os/process.h"

namespace beeline::bench {
namespace {

// The text behind the colon in the first line that begins with `key`.
std::string field_of(const std::string& file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos || line.compare(0, key.size(), key) != 0) continue;
    const auto first = line.find_first_not_of(" \t", colon + 1);
    if (first != std::string::npos) return line.substr(first);
  }
  return "unknown";
}

std::string first_line(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  return std::getline(in, line) && !line.empty() ? line : "unknown";
}

std::string kernel() {
  utsname name{};
  if (::uname(&name) != 0) return "unknown";
  return fmt::format("{} {} {}", name.sysname, name.release, name.machine);
}

std::string compiler() {
#if defined(__clang__)
  return fmt::format("Clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("GCC {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

}  // namespace

Row machine_json() {
  const std::string cpu = "/sys/devices/system/cpu/cpu0/";
  return {{"cpu", field_of("/proc/cpuinfo", "model name")},
          {"cpus", ::sysconf(_SC_NPROCESSORS_ONLN)},
          {"usable_cpus", os::usable_cpus()},
          {"threads_of_core_0", first_line(cpu + "topology/thread_siblings_list")},
          {"virtual", field_of("/proc/cpuinfo", "flags").find(" hypervisor") != std::string::npos},
          {"governor", first_line(cpu + "cpufreq/scaling_governor")},
          {"kernel", kernel()},
          {"memory", field_of("/proc/meminfo", "MemTotal")},
          {"compiler", compiler()},
          {"load", first_line("/proc/loadavg")},
          {"beeline", std::string(kVersion)}};
}

std::string file_system_of(const std::string& dir) {
  struct statfs found {};
  if (::statfs(dir.c_str(), &found) != 0) return "unknown";
  switch (static_cast<std::uint32_t>(found.f_type)) {
    case 0x01021994:
      return "tmpfs";
    case 0xEF53:
      return "ext4";
    case 0x58465342:
      return "xfs";
    case 0x9123683E:
      return "btrfs";
    case 0x794C7630:
      return "overlay";
    default:
      return fmt::format("{:x}", static_cast<std::uint32_t>(found.f_type));
  }
}

}  // namespace beeline::bench
