#include "tests/fault/holdings.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

namespace beeline::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLinkMark = "-link-";  // in the names of segment::link_name()

// Those that hold `text`.
std::size_t count_lines(const fs::path& path, const std::string& text) {
  std::ifstream file(path);
  std::size_t count = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.find(text) != std::string::npos) ++count;
  }
  return count;
}

// Each end maps the beginning of a link once, and other parts of it as it needs them.
std::size_t count_ends_of_links() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string addresses;
    std::string rights;
    std::uint64_t offset_bytes = 0;
    words >> addresses >> rights >> std::hex >> offset_bytes;
    if (words && offset_bytes == 0 && line.find(kLinkMark) != std::string::npos) ++count;
  }
  return count;
}

std::size_t count_fds(pid_t process) {
  std::error_code error;
  const fs::directory_iterator all(fs::path("/proc") / std::to_string(process) / "fd", error);
  return static_cast<std::size_t>(std::distance(fs::begin(all), fs::end(all)));
}

// A line of /proc/PID/status, in KiB.
std::size_t read_kib(const fs::path& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name)) return std::stoul(line.substr(name.size()));
  }
  return 0;
}

}  // namespace

Holdings holdings_of(pid_t process) {
  const fs::path proc = fs::path("/proc") / std::to_string(process);
  Holdings found;
  std::set<ino_t> segments;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(proc / "fd", error)) {
    ++found.fds;
    const std::string target = fs::read_symlink(entry.path(), error).string();
    struct stat file {};
    if (error || !target.starts_with("/memfd:beeline-")) continue;
    if (target.starts_with("/memfd:beeline-test-board")) continue;
    if (::stat(entry.path().c_str(), &file) != 0 || !segments.insert(file.st_ino).second) continue;
    found.segment_kib += static_cast<std::size_t>(file.st_blocks) / 2;
  }
  found.mappings = count_lines(proc / "maps", "");
  found.private_kib = read_kib(proc / "status", "RssAnon:");
  return found;
}

std::string describe(const Holdings& holdings) {
  return std::to_string(holdings.fds) + " fds, " + std::to_string(holdings.mappings) +
         " mappings, " + std::to_string(holdings.private_kib) + " KiB of its own, " +
         std::to_string(holdings.segment_kib) + " KiB in segments";
}

Leftovers operator+(const Leftovers& one, const Leftovers& other) {
  return {one.fds + other.fds, one.segments + other.segments, one.links + other.links,
          one.keeper_fds + other.keeper_fds, one.coordinator_fds + other.coordinator_fds};
}

Leftovers least_of(const Leftovers& one, const Leftovers& other) {
  return {std::min(one.fds, other.fds), std::min(one.segments, other.segments),
          std::min(one.links, other.links), std::min(one.keeper_fds, other.keeper_fds),
          std::min(one.coordinator_fds, other.coordinator_fds)};
}

Leftovers leftovers_of(pid_t keeper, pid_t coordinator) {
  return {count_fds(::getpid()), count_lines("/proc/self/maps", "memfd:beeline-"),
          count_ends_of_links(), count_fds(keeper), count_fds(coordinator)};
}

std::string describe(const Leftovers& left) {
  return std::to_string(left.fds) + " fds, " + std::to_string(left.segments) +
         " mappings of segments, " + std::to_string(left.links) + " ends of links, " +
         std::to_string(left.keeper_fds) + " fds of the keeper, " +
         std::to_string(left.coordinator_fds) + " of the coordinator";
}

}  // namespace beeline::test
