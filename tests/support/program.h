#pragma once
// Real programs, started as users start them: exit code, stdout and stderr, each separate.

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "src/os/fd.h"

namespace beeline::test {

struct Outcome {
  int code = -1;  // exit code; 128 + the number of the signal that ended it
  std::string out;
  std::string err;
};

// A program that was started. The destructor kills and reaps it if it still runs.
class Program {
 public:
  // `argv[0]` without a slash is looked for in $BEELINE_BIN.
  explicit Program(std::vector<std::string> argv, const std::string& input = "");
  // Gives the program a pipe as stdin that stays open.
  struct OpenInput {};
  Program(std::vector<std::string> argv, OpenInput);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  // REQUIRES: OpenInput.
  void write(const std::string& text) const;
  void close_input() { in_.reset(); }
  void signal(int number) const;
  // Its stdout so far.
  [[nodiscard]] std::string out() const;
  // Waits until stdout holds `text`; fails the test after a minute.
  void wait_for(const std::string& text) const;
  // Waits for its end; fails the test and kills it after `limit`.
  Outcome wait(std::chrono::seconds limit = std::chrono::seconds(60));

 private:
  void start(std::vector<std::string> argv, const os::UniqueFd& in);

  pid_t pid_ = -1;
  os::UniqueFd in_;
  os::UniqueFd out_;
  os::UniqueFd err_;
};

// Runs a program to its end.
[[nodiscard]] Outcome run(std::vector<std::string> argv, const std::string& input = "");

// Processes that were started with NAME=value in their environment, without this one.
[[nodiscard]] std::vector<pid_t> processes_with(const std::string& name, const std::string& value);

}  // namespace beeline::test
