#include "tests/support/program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include "src/os/text_file.h"

namespace beeline::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// Unnamed files never block their writer, as a full pipe would.
os::UniqueFd make_file(const std::string& content) {
  os::UniqueFd file(::memfd_create("test-output", MFD_CLOEXEC));
  EXPECT_TRUE(file.valid());
  EXPECT_EQ(::pwrite(file.get(), content.data(), content.size(), 0),
            static_cast<ssize_t>(content.size()));
  return file;
}

std::string read_all(int fd) {
  std::string text;
  std::array<char, 4096> bytes{};
  for (;;) {
    const ssize_t count = ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(text.size()));
    if (count <= 0) return text;
    text.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

std::string find(const std::string& program) {
  if (program.find('/') != std::string::npos) return program;
  const char* bin = std::getenv("BEELINE_BIN");
  return bin != nullptr ? std::string(bin) + '/' + program : program;
}

}  // namespace

Program::Program(std::vector<std::string> argv, const std::string& input)
    : out_(make_file("")), err_(make_file("")) {
  start(std::move(argv), make_file(input));
}

Program::Program(std::vector<std::string> argv, OpenInput)
    : out_(make_file("")), err_(make_file("")) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const os::UniqueFd in(ends[0]);
  in_.reset(ends[1]);
  start(std::move(argv), in);
}

void Program::write(const std::string& text) const {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::write(in_.get(), text.data() + done, text.size() - done);
    ASSERT_GT(count, 0) << "process " << pid_ << " does not read its stdin";
    done += static_cast<std::size_t>(count);
  }
}

void Program::start(std::vector<std::string> argv, const os::UniqueFd& in) {
  argv.front() = find(argv.front());
  std::vector<char*> words;
  for (std::string& word : argv) words.push_back(word.data());
  words.push_back(nullptr);
  pid_ = ::fork();
  EXPECT_GE(pid_, 0);
  if (pid_ != 0) return;
  (void)::dup2(in.get(), STDIN_FILENO);
  (void)::dup2(out_.get(), STDOUT_FILENO);
  (void)::dup2(err_.get(), STDERR_FILENO);
  ::execvp(words.front(), words.data());
  ::_exit(127);
}

Program::~Program() {
  if (pid_ <= 0) return;
  signal(SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Program::signal(int number) const {
  if (pid_ > 0) (void)::kill(pid_, number);
}

std::string Program::out() const { return read_all(out_.get()); }

void Program::wait_for(const std::string& text) const {
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (out().find(text) == std::string::npos) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << "no \"" << text << "\" in: " << out();
    std::this_thread::sleep_for(2ms);
  }
}

Outcome Program::wait(std::chrono::seconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  int status = 0;
  for (;;) {
    const pid_t reaped = ::waitpid(pid_, &status, WNOHANG);
    if (reaped == pid_) break;
    if (std::chrono::steady_clock::now() > end) {
      ADD_FAILURE() << "process " << pid_ << " did not end; its stderr: " << read_all(err_.get());
      signal(SIGKILL);
    }
    std::this_thread::sleep_for(1ms);
  }
  pid_ = -1;
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), out(),
          read_all(err_.get())};
}

Outcome run(std::vector<std::string> argv, const std::string& input) {
  return Program(std::move(argv), input).wait();
}

std::vector<pid_t> processes_with(const std::string& name, const std::string& value) {
  const std::string wanted = '\0' + name + '=' + value + '\0';
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0 || pid == ::getpid()) continue;
    if (('\0' + os::read_text_file(entry.path() / "environ")).find(wanted) != std::string::npos)
      found.push_back(pid);
  }
  return found;
}

}  // namespace beeline::test
