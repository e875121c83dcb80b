#include "tools/beeline/guarded_command.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "src/os/error.h"
#include "src/os/process.h"

namespace beeline::cli {
namespace {

// A command that prints lines for ever must not keep us here.
constexpr std::size_t kMostErrorsAtOnce = std::size_t{64} << 10;

struct TwoEnds {
  os::UniqueFd ours;
  os::UniqueFd theirs;
};

// A pipe. Its end in this process does not block; with `we_read` that is the reading end.
Result<TwoEnds> make_pipe(bool we_read) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return os::system_failure("cannot make a pipe");
  TwoEnds two{os::UniqueFd(ends[we_read ? 0 : 1]), os::UniqueFd(ends[we_read ? 1 : 0])};
  (void)::fcntl(two.ours.get(), F_SETFL, O_NONBLOCK);
  return two;
}

Result<TwoEnds> make_line() {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return os::system_failure("cannot make a pair of sockets");
  }
  return TwoEnds{os::UniqueFd(ends[0]), os::UniqueFd(ends[1])};
}

// Bytes that lie in a pipe; none if there is no pipe.
std::size_t waiting_in(const os::UniqueFd& pipe) {
  int waiting = 0;
  const bool is_known = pipe.valid() && ::ioctl(pipe.get(), FIONREAD, &waiting) == 0;
  return is_known ? static_cast<std::size_t>(waiting) : 0;
}

}  // namespace

GuardedCommand::GuardedCommand(GuardProcess guard, std::string_view input, Pipes pipes)
    : guard_(std::move(guard)), input_(input), pipes_(std::move(pipes)) {
  if (input_.empty()) pipes_.to.reset();
}

Result<GuardedCommand> GuardedCommand::start(const CommandLine& command, std::string_view input,
                                             int lease, Errors errors) {
  auto in = make_pipe(false);
  if (!in) return tl::unexpected(std::move(in.error()));
  auto out = make_pipe(true);
  if (!out) return tl::unexpected(std::move(out.error()));
  Result<TwoEnds> err = errors == Errors::kLines ? make_pipe(true) : TwoEnds{};
  if (!err) return tl::unexpected(std::move(err.error()));
  auto line = make_line();
  if (!line) return tl::unexpected(std::move(line.error()));
  const pid_t guard = ::fork();
  if (guard < 0) return os::system_failure("cannot fork to run the command");
  if (guard == 0) {
    guard_command(command, {std::move(line->theirs), std::move(in->theirs), std::move(out->theirs),
                            std::move(err->theirs), lease});
  }
  return GuardedCommand({guard, std::move(line->ours)}, input,
                        {std::move(in->ours), std::move(out->ours), std::move(err->ours)});
}

void GuardedCommand::add_to(std::vector<pollfd>& fds) const {
  fds.push_back({guard_.fd(), POLLIN, 0});
  if (pipes_.from.valid()) fds.push_back({pipes_.from.get(), POLLIN, 0});
  if (pipes_.errors.valid()) fds.push_back({pipes_.errors.get(), POLLIN, 0});
  if (pipes_.to.valid()) fds.push_back({pipes_.to.get(), POLLOUT, 0});
}

std::optional<GuardedCommand::Outcome> GuardedCommand::step() {
  feed();
  collect(kMaxCommandOutput + 1);
  collect_errors(kMostErrorsAtOnce);
  if (const auto report = guard_.take_report()) return end_as(*report);
  if (guard_.has_ended()) return Outcome{End::kLost, 0, 0, false, {}};
  return std::nullopt;
}

GuardedCommand::Outcome GuardedCommand::end_as(const GuardReport& report) {
  // From here on only processes in the background print, and their output is no part of the reply.
  collect(waiting_in(pipes_.from));
  collect_errors(waiting_in(pipes_.errors));
  pipes_ = {};
  Outcome outcome;
  outcome.status =
      WIFEXITED(report.status) ? WEXITSTATUS(report.status) : 128 + WTERMSIG(report.status);
  outcome.stop = report.stop;
  outcome.was_told = report.was_told;
  if (report.stop != 0) outcome.end = End::kStopped;
  if (output_.size() > kMaxCommandOutput) outcome.end = End::kTooBig;
  outcome.output = std::move(output_);
  return outcome;
}

void GuardedCommand::feed() {
  while (pipes_.to.valid()) {
    const ssize_t count = ::write(pipes_.to.get(), input_.data(), input_.size());
    if (count > 0) input_.remove_prefix(static_cast<std::size_t>(count));
    if (count < 0 && errno == EAGAIN) return;
    // A command need not read all of its input.
    if (input_.empty() || (count < 0 && errno != EINTR)) pipes_.to.reset();
  }
}

void GuardedCommand::collect(std::size_t most) {
  std::array<char, 64 * 1024> bytes{};
  while (most > 0 && pipes_.from.valid()) {
    const ssize_t count = ::read(pipes_.from.get(), bytes.data(), std::min(most, bytes.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return pipes_.from.reset();
    output_.append(bytes.data(), static_cast<std::size_t>(count));
    most -= static_cast<std::size_t>(count);
    if (output_.size() <= kMaxCommandOutput) continue;
    tell(GuardOrder::kKill);
    pipes_.from.reset();
  }
}

void GuardedCommand::collect_errors(std::size_t most) {
  std::array<char, 4096> bytes{};
  while (most > 0 && pipes_.errors.valid()) {
    const ssize_t count = ::read(pipes_.errors.get(), bytes.data(), std::min(most, bytes.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return pipes_.errors.reset();
    errors_.append(bytes.data(), static_cast<std::size_t>(count));
    most -= static_cast<std::size_t>(count);
  }
}

std::optional<std::string> GuardedCommand::take_error_line() {
  const std::size_t end = errors_.find('\n');
  const bool is_whole =
      end != std::string::npos || !pipes_.errors.valid() || errors_.size() > kMostErrorLine;
  if (errors_.empty() || !is_whole) return std::nullopt;
  const std::size_t length = std::min({end, errors_.size(), kMostErrorLine});
  std::string line = errors_.substr(0, length);
  errors_.erase(0, length == end ? length + 1 : length);
  return line;
}

}  // namespace beeline::cli
