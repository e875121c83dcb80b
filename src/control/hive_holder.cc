#include "src/control/hive_holder.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "src/os/lock_file.h"

namespace beeline::control {
namespace {

pid_t holder_pid(std::string_view text) {
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), pid);
  return error == std::errc() && end == text.end() && pid > 0 ? pid : 0;
}

std::optional<DirectoryAccess> access_from(std::string_view text) {
  DirectoryAccess access;
  const char* const last = text.data() + text.size();
  const auto mode = std::from_chars(text.data(), last, access.mode, 8);
  if (mode.ec != std::errc() || mode.ptr == last || *mode.ptr != ':') return std::nullopt;
  const auto group = std::from_chars(mode.ptr + 1, last, access.group);
  if (group.ec != std::errc() || group.ptr != last) return std::nullopt;
  return access;
}

}  // namespace

std::string holder_text(const HiveHolder& holder) {
  std::string text =
      fmt::format("pid {}\nsince {}\nhive {}\n", holder.pid, holder.since, holder.hive);
  if (holder.before) {
    text += fmt::format("before {:o}:{}\n", holder.before->mode, holder.before->group);
  }
  return text;
}

Result<HiveHolder> read_holder(const std::string& lock_path) {
  const auto text = os::LockFile::read_text(lock_path);
  if (!text) return tl::unexpected(text.error());
  HiveHolder holder;
  std::string_view rest(*text);
  for (std::size_t end = 0; (end = rest.find('\n')) != std::string_view::npos;) {
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    const std::size_t blank = std::min(line.find(' '), line.size());
    const std::string_view key = line.substr(0, blank);
    const std::string_view value = line.substr(std::min(blank + 1, line.size()));
    if (key == "pid") holder.pid = holder_pid(value);
    if (key == "since") holder.since = value;
    if (key == "hive") holder.hive = value;
    if (key == "before") holder.before = access_from(value);
  }
  return holder;
}

}  // namespace beeline::control
