#include "tools/beeline/process_state.h"

#include <unistd.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include <fmt/format.h>

namespace beeline::cli {
namespace {

// The index of the field counts from the state, which is the third field of the line.
constexpr std::size_t kStartedField = 22 - 3;

std::optional<ProcessState> state_from(char letter) noexcept {
  switch (letter) {
    case 'R':
      return ProcessState::kRunning;
    case 'S':
    case 'I':
      return ProcessState::kSleeping;
    case 'D':
      return ProcessState::kUninterruptible;
    case 'T':
    case 't':
      return ProcessState::kStopped;
    case 'Z':
    case 'X':
      return ProcessState::kDefunct;
    default:
      return std::nullopt;
  }
}

std::optional<ProcessStat> read_stat(const std::filesystem::path& folder) {
  std::string line;
  std::getline(std::ifstream(folder / "stat"), line);
  return parse_stat(line);
}

// The state of a living thread; 'Z' if none lives.
char letter_of_threads(const std::filesystem::path& process) {
  std::error_code error;
  std::filesystem::directory_iterator thread(process / "task", error);
  for (; !error && thread != std::filesystem::directory_iterator(); thread.increment(error)) {
    const auto stat = read_stat(thread->path());
    if (stat && state_from(stat->letter) != ProcessState::kDefunct) return stat->letter;
  }
  return 'Z';
}

}  // namespace

std::string_view to_string(ProcessState state) noexcept {
  switch (state) {
    case ProcessState::kRunning:
      return "running";
    case ProcessState::kSleeping:
      return "sleeping";
    case ProcessState::kUninterruptible:
      return "uninterruptible";
    case ProcessState::kStopped:
      return "stopped";
    case ProcessState::kDefunct:
      return "defunct";
  }
  return "unknown";
}

std::string_view stuck_word(ProcessState state) noexcept {
  switch (state) {
    case ProcessState::kStopped:
      return "stopped";
    case ProcessState::kUninterruptible:
    case ProcessState::kDefunct:
      return "stuck";
    case ProcessState::kRunning:
    case ProcessState::kSleeping:
      break;
  }
  return {};
}

bool is_stuck(ProcessState state) noexcept { return !stuck_word(state).empty(); }

std::optional<ProcessStat> parse_stat(std::string_view line) {
  const std::size_t name_end = line.rfind(") ");
  if (name_end == std::string_view::npos) return std::nullopt;
  line.remove_prefix(name_end + 2);
  if (line.empty()) return std::nullopt;
  ProcessStat stat;
  stat.letter = line.front();
  std::array<std::int64_t, kStartedField + 1> fields{};  // the first one is the letter
  for (std::size_t field = 1; field < fields.size(); ++field) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos) return std::nullopt;
    line.remove_prefix(blank + 1);
    // An unsigned 64-bit field may be too large for this type; we use none of those.
    const auto error = std::from_chars(line.begin(), line.end(), fields[field]).ec;
    if (error == std::errc::invalid_argument) return std::nullopt;
  }
  stat.parent = static_cast<pid_t>(fields[1]);
  stat.group = static_cast<pid_t>(fields[2]);
  stat.session = static_cast<pid_t>(fields[3]);
  stat.started_us = fields[kStartedField] * (1'000'000 / ::sysconf(_SC_CLK_TCK));
  return stat;
}

std::optional<ProcessStat> read_stat(pid_t pid) {
  return read_stat(std::filesystem::path(fmt::format("/proc/{}", pid)));
}

std::vector<pid_t> all_processes() {
  std::vector<pid_t> found;
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self", error);
  if (error || self != std::to_string(::getpid())) return found;
  std::filesystem::directory_iterator entry("/proc", error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename();
    pid_t pid = 0;
    const auto number = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (number.ec == std::errc() && number.ptr == name.data() + name.size()) found.push_back(pid);
  }
  return found;
}

Result<ProcessState> read_process_state(pid_t pid, std::int64_t begun_us) {
  const std::filesystem::path process = fmt::format("/proc/{}", pid);
  const auto stat = read_stat(process);
  if (!stat) {
    return fail(ErrorCode::kPeerDead, fmt::format("process {} is not visible in /proc", pid));
  }
  if (stat->started_us > begun_us) {
    return fail(
        ErrorCode::kPeerDead,
        fmt::format("process {} is younger than the agent: another one has its number now", pid));
  }
  char letter = stat->letter;
  if (state_from(letter) == ProcessState::kDefunct) letter = letter_of_threads(process);
  if (const auto state = state_from(letter)) return *state;
  return fail(
      ErrorCode::kSystem,
      fmt::format("the kernel says '{}' of process {}, which has no meaning here", letter, pid));
}

}  // namespace beeline::cli
