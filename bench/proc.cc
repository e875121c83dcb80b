#include "bench/proc.h"

#include <sys/stat.h>
#include <time.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "src/os/error.h"

namespace beeline::bench {
namespace {

constexpr const char* kSegmentName = "memfd:beeline-";

// A line like "VmPTE:  60 kB" of /proc/PID/status.
std::uint64_t status_kib(pid_t process, const std::string& key) {
  std::ifstream in(fmt::format("/proc/{}/status", process));
  for (std::string word; in >> word;) {
    std::uint64_t kib = 0;
    if (word == key && in >> kib) return kib;
  }
  return 0;
}

template <typename Visit>
void for_each_fd(pid_t process, const Visit& visit) {
  std::error_code error;
  std::filesystem::directory_iterator folder(fmt::format("/proc/{}/fd", process), error);
  for (; !error && folder != std::filesystem::directory_iterator(); folder.increment(error)) {
    visit(folder->path());
  }
}

}  // namespace

Result<std::int64_t> cpu_ns_of(pid_t process) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &time) != 0) {
    return os::system_failure(fmt::format("read the CPU time of process {}", process));
  }
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

Footprint footprint_of(pid_t process) {
  Footprint found;
  found.resident_kib = status_kib(process, "VmRSS:");
  found.page_table_kib = status_kib(process, "VmPTE:");
  for_each_fd(process, [&](const auto&) { ++found.fds; });
  std::ifstream maps(fmt::format("/proc/{}/maps", process));
  for (std::string line; std::getline(maps, line);) {
    if (line.find(kSegmentName) != std::string::npos) ++found.mappings;
  }
  return found;
}

std::uint64_t segment_kib_of(pid_t process) {
  std::uint64_t blocks = 0;
  std::set<ino_t> seen;
  for_each_fd(process, [&](const std::filesystem::path& fd) {
    std::error_code error;
    const auto target = std::filesystem::read_symlink(fd, error).string();
    if (error || target.find(kSegmentName) == std::string::npos) return;
    struct stat about {};
    if (::stat(fd.c_str(), &about) != 0 || !seen.insert(about.st_ino).second) return;
    blocks += static_cast<std::uint64_t>(about.st_blocks);
  });
  return blocks / 2;
}

}  // namespace beeline::bench
