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

std::optional<DirectoryOpening> opening_from(std::string_view text) {
  DirectoryOpening opening;
  const char* const last = text.data() + text.size();
  const auto mode = std::from_chars(text.data(), last, opening.before.mode, 8);
  if (mode.ec != std::errc() || mode.ptr == last || *mode.ptr != ':') return std::nullopt;
  const auto before = std::from_chars(mode.ptr + 1, last, opening.before.group);
  if (before.ec != std::errc() || before.ptr == last || *before.ptr != ':') return std::nullopt;
  const auto group = std::from_chars(before.ptr + 1, last, opening.group);
  if (group.ec != std::errc() || group.ptr != last) return std::nullopt;
  return opening;
}

}  // namespace

std::string holder_text(const HiveHolder& holder) {
  std::string text =
      fmt::format("pid {}\nsince {}\nhive {}\n", holder.pid, holder.since, holder.hive);
  if (holder.opening) {
    const DirectoryAccess& before = holder.opening->before;
    text += fmt::format("opened {:o}:{}:{}\n", before.mode, before.group, holder.opening->group);
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
    if (key == "opened") holder.opening = opening_from(value);
  }
  return holder;
}

}  // namespace beeline::control
