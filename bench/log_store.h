#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bench/store.h"

namespace beeline::bench {

// The bare disk: each put overwrites `bytes` bytes of a file and calls fdatasync(). The file is as
// long as a write-ahead log of SQLite, and the puts go round in it as SQLite does. Errors: kSystem.
[[nodiscard]] Result<std::unique_ptr<Store>> start_log_store(const std::string& folder,
                                                             std::uint64_t bytes);

}  // namespace beeline::bench
