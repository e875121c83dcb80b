#pragma once

#include <sys/types.h>

#include <string>

#include <beeline/agent.h>

#include "src/os/fd.h"
#include "tools/beeline/options.h"
#include "tools/beeline/signals.h"

namespace beeline::cli {

// The right to run the commands of an agent. It lasts while any process holds its descriptor. The
// guards of commands hold it too, so after a kill the next incarnation of the agent gets the lease
// only when no process of the earlier one's commands runs any more.
//
// It is a listening socket with an abstract name, which the kernel frees by itself. Processes of
// other users cannot take it from us.
class CommandLease {
 public:
  enum class Wait {
    kHeld,
    kSignal,    // a signal asked us to end
    kShutdown,  // the hive went down
  };

  // The lease of the agent that is attached now. Errors: those of find_hive(), kSystem.
  [[nodiscard]] static Result<CommandLease> of(const Context& context, const Agent& agent);

  // Waits until we have the lease. Errors: kSystem.
  [[nodiscard]] Result<Wait> acquire(Agent& agent, Signals& signals);
  [[nodiscard]] int fd() const noexcept { return socket_.get(); }

 private:
  explicit CommandLease(std::string name) : name_(std::move(name)) {}

  [[nodiscard]] Result<bool> try_acquire();
  [[nodiscard]] os::UniqueFd watch_holder() const;

  std::string name_;
  os::UniqueFd socket_;
};

}  // namespace beeline::cli
