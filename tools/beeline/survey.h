#pragma once

// One look at a whole hive from outside: the coordinator's list, the contents of the segments, and
// the kernel's state of each process. Asks no agent for anything.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/result.h>

#include "src/control/client.h"
#include "tools/beeline/accounts.h"
#include "tools/beeline/process_state.h"

namespace beeline::cli {

class Survey {
 public:
  // Errors: those of every call of the client. An unreadable segment or process is no error;
  // gaps() lists it.
  [[nodiscard]] static Result<Survey> take(control::Client& client, std::string_view hive,
                                           const Patience& patience = {});

  [[nodiscard]] const control::StatusAnswer& status() const noexcept { return status_; }
  [[nodiscard]] const std::vector<control::ListedAgent>& agents() const noexcept { return agents_; }
  [[nodiscard]] const HiveAccounts& accounts() const noexcept { return accounts_; }

  // The state of its process: nothing if it has none, an error if it cannot be read from here.
  [[nodiscard]] const std::optional<Result<ProcessState>>& process_of(Pid pid) const;
  // Whether its process handles nothing.
  [[nodiscard]] bool is_stuck(const control::ListedAgent& agent) const;
  // The word for the state of an agent: its own, or "stopped" or "stuck" if its process is in that
  // state.
  [[nodiscard]] std::string_view state_word(const control::ListedAgent& agent) const;
  // The bytes of the segments that the agent owns. Nothing if they cannot be read.
  [[nodiscard]] std::optional<std::uint64_t> memory_bytes(Pid pid) const;
  // How long this incarnation of an agent has been running; for the coordinator, how long the hive
  // has. Nothing if it is not running.
  [[nodiscard]] std::optional<std::int64_t> up_ns(const control::ListedAgent& agent) const;
  // How long ago a message was sent.
  [[nodiscard]] std::optional<std::int64_t> age_ns(std::optional<std::int64_t> sent_ns) const;
  // Everything that could not be read, each with the reason; empty: all was read.
  [[nodiscard]] std::vector<std::string> gaps() const;

 private:
  void look_at_processes(bool numbers_match);

  control::StatusAnswer status_;
  std::vector<control::ListedAgent> agents_;
  HiveAccounts accounts_;
  std::map<Pid, std::optional<Result<ProcessState>>> processes_;
  std::int64_t now_ns_ = 0;  // CLOCK_MONOTONIC
  std::int64_t boot_us_ = 0;
  std::int64_t unix_ns_ = 0;
};

}  // namespace beeline::cli
