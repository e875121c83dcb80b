#pragma once
// A hive with one agent, whose children `beeline-bench spawn` starts and ends: by the steward, and
// by posix_spawn().

#include <cstddef>
#include <cstdint>
#include <string>

#include <beeline/agent.h>

#include "tools/beeline/scratch_hive.h"

namespace beeline::bench {

class Nest {
 public:
  // Starts the hive, its steward and the parent of all children. Errors: kSystem, those of Agent
  // and Processes.
  [[nodiscard]] static Result<Nest> start();

  // Both start `count` children at once, wait until all have attached, and end them. They return
  // the nanoseconds from the first start until the caller knows that all have attached. Errors:
  // kSystem, kTimeout, those of Agent and Processes.
  [[nodiscard]] Result<std::int64_t> spawn(std::size_t count);
  [[nodiscard]] Result<std::int64_t> spawn_raw(std::size_t count);

  // Ends the hive.
  [[nodiscard]] Result<void> close();

 private:
  Nest(cli::ScratchHive hive, Agent agent) : hive_(std::move(hive)), agent_(std::move(agent)) {}
  [[nodiscard]] Result<std::int64_t> spawn_one();
  [[nodiscard]] Result<std::int64_t> spawn_many(std::size_t count);
  // Ends a child with SIGKILL, and waits until the steward has noted its end.
  [[nodiscard]] Result<void> end(const SpawnedChild& child);
  [[nodiscard]] std::string next_name();

  cli::ScratchHive hive_;
  std::optional<Agent> agent_;
  std::size_t named_ = 0;
};

}  // namespace beeline::bench
