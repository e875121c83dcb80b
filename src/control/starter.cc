#include "src/control/starter.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "shm/link.h"
#include "src/control/program_check.h"
#include "src/control/ready_pipe.h"
#include "src/os/clock.h"
#include "src/os/error.h"
#include "src/os/event_fd.h"
#include "src/os/fd.h"
#include "src/os/pid_fd.h"
#include "src/os/process.h"

namespace beeline::control {
namespace {

// The possible places of `beelined`, in the order of the search.
std::vector<std::string> places_of_program() {
  std::vector<std::string> places;
  if (const std::string named(os::variable("BEELINE_BIN")); !named.empty()) {
    struct stat found {};
    const bool is_directory = ::stat(named.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
    places.push_back(is_directory ? named + "/beelined" : named);
  }
  places.push_back(os::executable_directory() + "/beelined");
#ifdef BEELINE_INSTALL_BINDIR
  places.emplace_back(BEELINE_INSTALL_BINDIR "/beelined");
#endif
  const std::string path(os::variable("PATH"));
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    // A relative one depends on our working directory.
    if (path[begin] == '/') places.push_back(path.substr(begin, end - begin) + "/beelined");
    begin = end + 1;
  }
  return places;
}

// The program to run: the first of its places that may be trusted. Errors: kNoCoordinator, naming
// the refused places and the reasons.
Result<std::string> find_program() {
  const std::vector<std::string> places = places_of_program();
  std::string reasons;
  for (auto place = places.begin(); place != places.end(); ++place) {
    if (std::find(places.begin(), place, *place) != place) continue;
    auto program = check_program(*place);
    if (program && *program) return std::move(**program);
    if (!program) reasons += (reasons.empty() ? "" : "; ") + program.error().text;
  }
  if (reasons.empty()) {
    return fail(ErrorCode::kNoCoordinator,
                fmt::format("cannot start beelined: it is neither in {} nor in PATH; set "
                            "BEELINE_BIN, or run `beeline up`",
                            os::executable_directory()));
  }
  return fail(ErrorCode::kNoCoordinator,
              fmt::format("cannot start beelined, because others could have written it: {}; let "
                          "only its user write there, or set BEELINE_BIN to another one",
                          reasons));
}

Result<void> check_group(const std::string& text) {
  const auto found = find_group(text);
  if (found) return {};
  return fail(ErrorCode::kInvalid,
              fmt::format("BEELINE_GROUP: {}, or unset it", found.error().text));
}

Result<void> check_forget_after(const std::string& text) {
  constexpr std::array<std::string_view, 5> kUnits = {"", "ms", "s", "m", "h"};
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const bool is_unit = std::find(kUnits.begin(), kUnits.end(), unit) != kUnits.end();
  if (error == std::errc() && number != 0 && is_unit) return {};
  return fail(ErrorCode::kInvalid,
              fmt::format("BEELINE_FORGET_EMPTY_AFTER is \"{}\": set it to a time like 30s or 12h, "
                          "or unset it",
                          text));
}

Result<void> check_payload(const std::string& text) {
  std::uint64_t bytes = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, bytes);
  if (error == std::errc() && end == last && bytes >= shm::kMinMaxPayload &&
      bytes <= shm::kMaxMaxPayload) {
    return {};
  }
  return fail(ErrorCode::kInvalid,
              fmt::format("the largest payload of a hive is {} to {} bytes, BEELINE_MAX_PAYLOAD is "
                          "\"{}\": set it to such a number, or unset it for {}",
                          shm::kMinMaxPayload, shm::kMaxMaxPayload, text, shm::kDefaultMaxPayload));
}

// Makes arguments of the daemon from the environment, and checks them, because the user would not
// see the daemon's error.
Result<std::vector<std::string>> arguments_of_environment() {
  struct Known {
    const char* variable;
    const char* option;
    Result<void> (*check)(const std::string&);
  };
  constexpr std::array<Known, 3> kAll = {
      {{"BEELINE_MAX_PAYLOAD", "--max-payload", check_payload},
       {"BEELINE_GROUP", "--group", check_group},
       {"BEELINE_FORGET_EMPTY_AFTER", "--forget-empty-after", check_forget_after}}};
  std::vector<std::string> arguments;
  for (const Known& known : kAll) {
    std::string text(os::variable(known.variable));
    if (text.empty()) continue;
    if (auto good = known.check(text); !good) return tl::unexpected(std::move(good.error()));
    arguments.insert(arguments.end(), {known.option, std::move(text)});
  }
  return arguments;
}

// Reads the daemon's report until it closes the pipe or says that it is ready.
Result<std::string> read_report(int fd, std::chrono::nanoseconds deadline) {
  const std::int64_t end_ns = os::monotonic_ns() + deadline.count();
  std::string report;
  for (;;) {
    const std::chrono::nanoseconds left(end_ns - os::monotonic_ns());
    if (left.count() <= 0) {
      return fail(ErrorCode::kTimeout, fmt::format("beelined was not ready within {} ms",
                                                   deadline / std::chrono::milliseconds(1)));
    }
    if (!os::wait_readable(fd, left)) continue;
    std::array<char, 1024> bytes{};
    const ssize_t count = ::read(fd, bytes.data(), bytes.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) return os::system_failure("cannot read from beelined's ready pipe");
    if (count == 0) return report;
    report.append(bytes.data(), static_cast<std::size_t>(count));
    if (report.front() == kReadyByte) return report;
  }
}

}  // namespace

Result<bool> start_coordinator(const HivePaths& paths, std::chrono::nanoseconds deadline) {
  const auto settings = arguments_of_environment();
  if (!settings) return tl::unexpected(settings.error());
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return os::system_failure("cannot make a pipe");
  const os::UniqueFd read_end(ends[0]);
  os::UniqueFd write_end(ends[1]);
  if (!read_end.valid() || !write_end.valid()) return os::system_failure("cannot make a pipe");

  const auto found = find_program();
  if (!found) return tl::unexpected(found.error());
  const std::string& program = *found;
  const std::array<int, 1> keep{write_end.get()};
  std::vector<std::string> command = {program, "--hive", paths.hive, "--ready-fd",
                                      fmt::format("{}", write_end.get())};
  command.insert(command.end(), settings->begin(), settings->end());
  const auto child = os::spawn(command, keep);
  if (!child) {
    return fail(ErrorCode::kNoCoordinator,
                fmt::format("cannot start {}: {}; set BEELINE_BIN, or run `beeline up`", program,
                            child.error().text));
  }
  write_end.reset();
  // The child detaches the daemon and ends; its pidfd tells when. A SIGCHLD handler of the calling
  // program may reap it, so its exit status proves nothing.
  auto launcher = os::open_pidfd(*child);
  const auto report = read_report(read_end.get(), deadline);
  if (launcher) (void)os::wait_readable(launcher->get(), std::chrono::seconds(1));
  (void)os::try_reap(*child);

  if (!report) return tl::unexpected(report.error());
  if (report->starts_with(kReadyByte)) return true;
  if (report->starts_with(kAlreadyRunningByte)) return false;
  return fail(ErrorCode::kNoCoordinator,
              report->empty()
                  ? fmt::format("{} ended before it was ready; see {}", program, paths.log)
                  : *report);
}

}  // namespace beeline::control
