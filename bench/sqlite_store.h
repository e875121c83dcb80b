#pragma once

#include <memory>
#include <string>

#include "bench/store.h"

namespace beeline::bench {

// SQLite with the tables of the durable buffer, WAL and synchronous=FULL. Each put is a transaction
// of its own, by the process that puts. Errors: kSystem.
[[nodiscard]] Result<std::unique_ptr<Store>> start_sqlite_store(const std::string& folder);

// Makes the database of a durable buffer without messages. Its write-ahead log has the length that
// it keeps, so that no put makes it longer. Errors: kSystem.
[[nodiscard]] Result<void> make_seasoned_database(const std::string& path);

}  // namespace beeline::bench
