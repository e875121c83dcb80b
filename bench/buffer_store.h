#pragma once

#include <memory>
#include <string>

#include "bench/store.h"

namespace beeline::bench {

// `beeline buffer run` in a hive of its own, both as they are by default. A sender is an agent, a
// put is Buffer::put(). Errors: kInvalid (the program `beeline` is not there), kSystem, those of
// Agent.
[[nodiscard]] Result<std::unique_ptr<Store>> start_buffer_store(const std::string& folder);

}  // namespace beeline::bench
