#pragma once
// The servers of the peers that need one. Errors: those of Server::start().

#include <string>
#include <vector>

#include "bench/peers/server.h"

namespace beeline::bench::peers {

// On a Unix socket, without files. `words` follow on its command line, and win.
[[nodiscard]] Result<Server> start_redis_server(const std::vector<std::string>& words);

// On any free port of the loopback interface.
[[nodiscard]] Result<Server> start_nats_server(const std::vector<std::string>& words);

}  // namespace beeline::bench::peers
