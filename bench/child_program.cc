#include "bench/child_program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>

#include "src/os/error.h"
#include "src/os/event_fd.h"
#include "src/os/fd.h"
#include "src/os/pid_fd.h"
#include "src/os/uninterrupted.h"

namespace beeline::bench {
namespace {

constexpr std::chrono::seconds kEndPatience(10);
constexpr int kExecFailed = 127;

[[noreturn]] void run_program(std::vector<std::string> command, int output, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  (void)::dup2(output, STDOUT_FILENO);
  (void)::dup2(output, STDERR_FILENO);
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  ::execv(words.front(), words.data());
  ::_exit(kExecFailed);
}

}  // namespace

Result<ChildProgram> ChildProgram::start(const std::vector<std::string>& command,
                                         const std::string& output) {
  const os::UniqueFd file(::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file.valid()) return os::system_failure("open " + output);
  const pid_t own = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) run_program(command, file.get(), own);
  if (child < 0) return os::system_failure("fork " + command.front());
  return ChildProgram(child, output);
}

ChildProgram::~ChildProgram() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGTERM);
  const auto life = os::open_pidfd(pid_);
  if (!life || !os::wait_readable(life->get(), kEndPatience)) ::kill(pid_, SIGKILL);
  (void)os::uninterrupted([&] { return ::waitpid(pid_, nullptr, 0); });
}

std::string ChildProgram::last_words() const {
  constexpr std::size_t kMost = 300;
  std::ostringstream text;
  text << std::ifstream(output_).rdbuf();
  const std::string all = text.str();
  return all.size() > kMost ? all.substr(all.size() - kMost) : all;
}

}  // namespace beeline::bench
