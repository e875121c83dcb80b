#include "src/steward/control_groups.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "src/os/error.h"
#include "src/os/fd.h"
#include "src/os/text_file.h"
#include "src/os/uninterrupted.h"

namespace beeline::steward {

namespace {

Result<void> write_group_file(const std::string& path, std::string_view text) {
  const os::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid()) return os::system_failure(fmt::format("open {}", path));
  const auto written =
      os::uninterrupted([&] { return ::write(fd.get(), text.data(), text.size()); });
  if (written != static_cast<ssize_t>(text.size())) {
    return os::system_failure(fmt::format("write \"{}\" to {}", text, path));
  }
  return {};
}

// The directory in which the hierarchy of version 2 is mounted; empty if it is not.
std::string mount_point() {
  std::istringstream lines(os::read_text_file("/proc/self/mountinfo"));
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" - cgroup2 ") == std::string::npos) continue;
    std::istringstream words(line);
    std::string word;
    for (int i = 0; i < 5; ++i) words >> word;  // the fifth is the mount point
    return word;
  }
  return {};
}

// The path of our group below the mount point.
std::string own_group() {
  std::istringstream lines(os::read_text_file("/proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0::/")) return line.substr(3);
  }
  return {};
}

bool has_word(const std::string& text, std::string_view wanted) {
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word == wanted) return true;
  }
  return false;
}

}  // namespace

ControlGroups ControlGroups::find() {
  ControlGroups groups;
  const std::string mount = mount_point();
  const std::string own = own_group();
  if (mount.empty() || own.empty()) {
    groups.missing_ = "this system has no control groups of version 2";
    return groups;
  }
  groups.root_ = own == "/" ? mount : mount + own;
  const std::string offered = os::read_text_file(groups.root_ + "/cgroup.controllers");
  if (!has_word(offered, "memory") || !has_word(offered, "pids")) {
    groups.missing_ = fmt::format("{} does not offer the controllers memory and pids",
                                  groups.root_ + "/cgroup.controllers");
    return groups;
  }
  const std::string handed_on = groups.root_ + "/cgroup.subtree_control";
  const std::string now = os::read_text_file(handed_on);
  if (has_word(now, "memory") && has_word(now, "pids")) return groups;
  // The kernel hands controllers on only where no process is in the group itself.
  if (auto written = write_group_file(handed_on, "+memory +pids"); !written) {
    groups.missing_ = written.error().text;
  }
  return groups;
}

std::string ControlGroups::path_of(std::int64_t child) const {
  return fmt::format("{}/beeline-{}-{}", root_, ::getppid(), child);
}

Result<void> ControlGroups::make(std::int64_t child, const ChildLimits& limits) const {
  const std::string path = path_of(child);
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
    return os::system_failure(fmt::format("make the control group {}", path));
  }
  const auto word = [](std::uint64_t limit) {
    return limit == 0 ? std::string("max") : std::to_string(limit);
  };
  if (auto set = write_group_file(path + "/memory.max", word(limits.memory_bytes)); !set) {
    return set;
  }
  return write_group_file(path + "/pids.max", word(limits.processes));
}

Result<void> ControlGroups::join(std::int64_t child, pid_t process) const {
  return write_group_file(path_of(child) + "/cgroup.procs", std::to_string(process));
}

void ControlGroups::kill(std::int64_t child) const {
  (void)write_group_file(path_of(child) + "/cgroup.kill", "1");
}

void ControlGroups::remove(std::int64_t child) const { ::rmdir(path_of(child).c_str()); }

}  // namespace beeline::steward
