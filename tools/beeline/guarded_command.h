#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <poll.h>

#include <beeline/result.h>

#include "src/os/fd.h"
#include "tools/beeline/command_guard.h"
#include "tools/beeline/guard_process.h"

namespace beeline::cli {

// Most bytes that a command may print.
inline constexpr std::size_t kMaxCommandOutput = std::size_t{64} << 20;
// Most bytes of a line of its stderr.
inline constexpr std::size_t kMostErrorLine = 4096;

// A running command of `beeline reply`. It gets a message on its stdin, and its output until it
// exits is kept. Nothing here blocks.
class GuardedCommand {
 public:
  enum class End : std::uint8_t {
    kExited,   // `status` has its exit status; a process that it left in the background may still
               // run
    kStopped,  // the signal `stop` had stopped it, so the guard ended it
    kTooBig,   // it printed more than kMaxCommandOutput, and was killed
    kLost,     // its guard was killed
  };
  struct Outcome {
    End end = End::kExited;
    int status = 0;  // the exit code; 128 + the number of the signal that ended it
    int stop = 0;
    bool was_told = true;  // an order to end came before it ended
    std::string output;
  };

  enum class Errors : std::uint8_t {
    kOurs,   // what it prints to stderr goes to our stderr
    kLines,  // take_error_line() has it
  };
  // Runs `command` with /bin/sh -c. Its stdin gets `input`, which must outlive this object. Errors:
  // kSystem.
  [[nodiscard]] static Result<GuardedCommand> start(const CommandLine& command,
                                                    std::string_view input, int lease,
                                                    Errors errors = Errors::kOurs);

  // Adds the descriptors that step() waits for.
  void add_to(std::vector<pollfd>& fds) const;
  // Reads and writes as far as it can without blocking. Returns the outcome once the command has
  // ended.
  [[nodiscard]] std::optional<Outcome> step();
  // The next whole line of its stderr; the last one is whole when the command has ended. A longer
  // one than kMostErrorLine comes in pieces.
  [[nodiscard]] std::optional<std::string> take_error_line();
  void tell(GuardOrder order) const noexcept { guard_.tell(order); }
  // The guard, after the command's end. The guard lives as long as any process that the command
  // left behind.
  [[nodiscard]] GuardProcess take_guard() { return std::move(guard_); }

 private:
  // Our ends of its stdin, its stdout and, if we read it, its stderr.
  struct Pipes {
    os::UniqueFd to;
    os::UniqueFd from;
    os::UniqueFd errors;
  };
  GuardedCommand(GuardProcess guard, std::string_view input, Pipes pipes);

  void feed();
  void collect_errors(std::size_t most);
  void collect(std::size_t most);
  Outcome end_as(const GuardReport& report);

  GuardProcess guard_;
  std::string_view input_;
  Pipes pipes_;
  std::string output_;
  std::string errors_;  // not taken yet
};

}  // namespace beeline::cli
