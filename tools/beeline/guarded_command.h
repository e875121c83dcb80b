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

  // Runs `command` with /bin/sh -c. Its stdin gets `input`, which must outlive this object; its
  // stderr is ours. Errors: kSystem.
  [[nodiscard]] static Result<GuardedCommand> start(const CommandLine& command,
                                                    std::string_view input, int lease);

  // Adds the descriptors that step() waits for.
  void add_to(std::vector<pollfd>& fds) const;
  // Reads and writes as far as it can without blocking. Returns the outcome once the command has
  // ended.
  [[nodiscard]] std::optional<Outcome> step();
  void tell(GuardOrder order) const noexcept { guard_.tell(order); }
  // The guard, after the command's end. The guard lives as long as any process that the command
  // left behind.
  [[nodiscard]] GuardProcess take_guard() { return std::move(guard_); }

 private:
  GuardedCommand(GuardProcess guard, std::string_view input, os::UniqueFd to, os::UniqueFd from);

  void feed();
  void collect(std::size_t most);
  Outcome end_as(const GuardReport& report);

  GuardProcess guard_;
  std::string_view input_;
  os::UniqueFd to_command_;
  os::UniqueFd from_command_;
  std::string output_;
};

}  // namespace beeline::cli
