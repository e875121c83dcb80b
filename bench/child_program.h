#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include <beeline/result.h>

namespace beeline::bench {

// A program that runs beside the bench. It does not outlive the bench, and ends with this object.
// For single-threaded programs only.
class ChildProgram {
 public:
  // Starts it; its output goes to the file `output`. Errors: kSystem.
  [[nodiscard]] static Result<ChildProgram> start(const std::vector<std::string>& command,
                                                  const std::string& output);
  ChildProgram(ChildProgram&& other) noexcept
      : pid_(std::exchange(other.pid_, 0)), output_(std::move(other.output_)) {}
  ChildProgram& operator=(ChildProgram&&) = delete;
  // SIGTERM, and SIGKILL if it lives ten seconds later.
  ~ChildProgram();

  // It is not reaped before its end by this object.
  [[nodiscard]] pid_t pid() const { return pid_; }
  // The end of its output.
  [[nodiscard]] std::string last_words() const;

 private:
  ChildProgram(pid_t pid, std::string output) : pid_(pid), output_(std::move(output)) {}

  pid_t pid_;  // 0 after a move
  std::string output_;
};

}  // namespace beeline::bench
