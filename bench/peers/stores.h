#pragma once
// The peers that keep messages in files. A peer without its library at build time is kInvalid, and
// the error names its packages.

#include <memory>
#include <string>

#include "bench/store.h"

namespace beeline::bench::peers {

// Streams of Redis: XADD by hiredis over a Unix socket; the server appends each command to its
// file and syncs that before it answers (`appendfsync always`).
[[nodiscard]] Result<std::unique_ptr<Store>> start_redis_store(const std::string& folder);

// JetStream of NATS with file storage: js_Publish() of the C client, which waits for the
// acknowledgement. The server syncs before it only if its version knows `sync_interval: always`.
[[nodiscard]] Result<std::unique_ptr<Store>> start_nats_store(const std::string& folder);

}  // namespace beeline::bench::peers
