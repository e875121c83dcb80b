#include "bench/peers/server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "src/os/clock.h"
#include "src/os/error.h"

namespace beeline::bench::peers {
namespace {

constexpr int kReadyMs = 20'000;
constexpr int kEndMs = 5'000;
constexpr std::size_t kMostOutput = 16'384;

struct Pipe {
  os::UniqueFd read;
  os::UniqueFd write;
};

Result<Pipe> make_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return os::system_failure("make a pipe for a server");
  return Pipe{os::UniqueFd(ends[0]), os::UniqueFd(ends[1])};
}

// The path of a program; servers may lie outside of an ordinary $PATH.
std::string find_program(const std::string& name) {
  const char* const path = ::getenv("PATH");
  const std::string folders = fmt::format("{}:/usr/local/sbin:/usr/sbin", path ? path : "/usr/bin");
  for (std::size_t begin = 0; begin < folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    std::string file = folders.substr(begin, end - begin) + '/' + name;
    if (::access(file.c_str(), X_OK) == 0) return file;
    begin = end + 1;
  }
  return "";
}

[[noreturn]] void run_server(std::vector<std::string> words, int output, pid_t guard) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != guard) ::_exit(1);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(number, SIG_DFL);
  (void)::dup2(output, STDOUT_FILENO);
  (void)::dup2(output, STDERR_FILENO);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

// The guard: a process of its own, between its fork and its end.
class Guard {
 public:
  Guard(int control, os::UniqueFd report, std::string_view ready)
      : control_(control), report_(std::move(report)), ready_(ready) {}

  [[noreturn]] void run(const std::vector<std::string>& words, const std::string& place) {
    leave_terminal();
    auto pipe = make_pipe();
    if (!pipe) ::_exit(1);
    const pid_t own = ::getpid();
    server_ = ::fork();
    if (server_ == 0) run_server(words, pipe->write.get(), own);
    pipe->write.reset();
    output_ = std::move(pipe->read);
    if (server_ > 0) watch();
    std::error_code error;
    std::filesystem::remove_all(place, error);
    ::_exit(error ? 1 : 0);
  }

 private:
  void leave_terminal() const {
    ::setsid();
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(number, SIG_IGN);
    // Let go of these, because readers of our output or of another guard's pipe must not wait for
    // us.
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) (void)::dup2(null, fd);
    const auto most = static_cast<int>(::sysconf(_SC_OPEN_MAX));
    for (int fd = 3; fd < std::min(most, 1024); ++fd) {
      if (fd != control_ && fd != report_.get()) ::close(fd);
    }
  }

  // Waits until the bench has gone; then ends the server, gently at first.
  void watch() {
    while (wait(-1) && !read_output()) {
    }
    ::kill(server_, SIGTERM);
    const std::int64_t end = os::monotonic_ns() + std::int64_t{kEndMs} * 1'000'000;
    control_ = -1;
    while (!ended_) {
      const std::int64_t left = end - os::monotonic_ns();
      if (left <= 0 || !wait(static_cast<int>(left / 1'000'000) + 1)) break;
      (void)read_output();
    }
    ::kill(server_, SIGKILL);
    while (::waitpid(server_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  // Waits for output; false: the bench has gone, or the time is over.
  bool wait(int milliseconds) {
    std::array<pollfd, 2> fds{pollfd{output_.get(), POLLIN, 0}, pollfd{control_, POLLIN, 0}};
    int found = 0;
    while ((found = ::poll(fds.data(), fds.size(), milliseconds)) < 0 && errno == EINTR) {
    }
    return found > 0 && fds[1].revents == 0;
  }

  // Tells the bench once the server is ready. True: the server has ended.
  bool read_output() {
    std::array<char, 4096> block{};
    const ssize_t length = ::read(output_.get(), block.data(), block.size());
    if (length > 0 && text_.size() < kMostOutput) {
      text_.append(block.data(), static_cast<std::size_t>(length));
    }
    ended_ = length == 0;
    const bool is_ready = text_.find(ready_) != std::string::npos;
    if (report_.valid() && (is_ready || ended_)) {
      const std::string told = (is_ready ? 'y' : 'n') + text_;
      (void)!::write(report_.get(), told.data(), told.size());
      report_.reset();
    }
    return ended_;
  }

  int control_;
  os::UniqueFd report_;
  std::string ready_;
  pid_t server_ = 0;
  os::UniqueFd output_;
  std::string text_;
  bool ended_ = false;
};

// The guard's report: 'y' or 'n' and the output of the server; empty: nothing in time.
std::string read_report(int fd) {
  std::string text;
  pollfd one{fd, POLLIN, 0};
  const std::int64_t end = os::monotonic_ns() + std::int64_t{kReadyMs} * 1'000'000;
  for (;;) {
    const std::int64_t left = (end - os::monotonic_ns()) / 1'000'000;
    if (left <= 0) return "";
    if (::poll(&one, 1, static_cast<int>(left)) <= 0) continue;
    std::array<char, 4096> block{};
    const ssize_t length = ::read(fd, block.data(), block.size());
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) return text.empty() ? "n" : text;
    text.append(block.data(), static_cast<std::size_t>(length));
  }
}

Result<std::string> make_place() {
  const char* const place = ::getenv("TMPDIR");
  std::string path = fmt::format("{}/beeline-peer-XXXXXX", place && *place ? place : "/tmp");
  if (::mkdtemp(path.data()) == nullptr) {
    return os::system_failure(fmt::format("make the directory {} (set TMPDIR)", path));
  }
  return path;
}

}  // namespace

Result<Server> Server::start(const std::string& program, const Command& command,
                             std::string_view ready) {
  const std::string file = find_program(program);
  if (file.empty()) return fail(ErrorCode::kInvalid, program + " is not installed");
  auto control = make_pipe();
  if (!control) return tl::unexpected(control.error());
  auto report = make_pipe();
  if (!report) return tl::unexpected(report.error());
  auto place = make_place();
  if (!place) return tl::unexpected(place.error());
  std::vector<std::string> words = command(*place);
  words.insert(words.begin(), file);

  Server server;
  server.place_ = *place;
  server.guard_ = ::fork();
  if (server.guard_ == 0) {
    control->write.reset();
    report->read.reset();
    Guard(control->read.get(), std::move(report->write), ready).run(words, *place);
  }
  if (server.guard_ < 0) {
    auto failure = os::system_failure("fork the guard of a server");
    std::error_code error;
    std::filesystem::remove_all(*place, error);
    return failure;
  }
  server.control_ = std::move(control->write);
  report->write.reset();
  const std::string told = read_report(report->read.get());
  if (told.empty()) {
    return fail(ErrorCode::kTimeout,
                fmt::format("{} was not ready in {} s", program, kReadyMs / 1000));
  }
  server.output_ = told.substr(1);
  if (told[0] == 'y') return server;
  const std::size_t tail = server.output_.size() > 300 ? server.output_.size() - 300 : 0;
  return fail(ErrorCode::kSystem,
              fmt::format("{} ended: {}", program, server.output_.substr(tail)));
}

std::string Server::word_behind(std::string_view text) const {
  const std::size_t at = output_.find(text);
  if (at == std::string::npos) return "";
  const std::size_t begin = output_.find_first_not_of(' ', at + text.size());
  const std::size_t end = output_.find_first_of(", \r\n", begin);
  return begin == std::string::npos ? "" : output_.substr(begin, end - begin);
}

Server::Server(Server&& other) noexcept
    : address(std::move(other.address)),
      version(std::move(other.version)),
      place_(std::move(other.place_)),
      output_(std::move(other.output_)),
      control_(std::move(other.control_)),
      guard_(std::exchange(other.guard_, 0)) {}

Server::~Server() {
  control_.reset();
  if (guard_ <= 0) return;
  while (::waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace beeline::bench::peers
