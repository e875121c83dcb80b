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

}  // namespace

std::string holder_text(const HiveHolder& holder) {
  return fmt::format("pid {}\nsince {}\nhive {}\n", holder.pid, holder.since, holder.hive);
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
  }
  return holder;
}

}  // namespace beeline::control
