#pragma once
// The peers, by name. A peer without its library at build time is listed as missing.

#include <span>
#include <string>
#include <string_view>

#include "bench/peers/row.h"
#include "bench/peers/server.h"
#include "bench/run.h"

namespace beeline::bench::peers {

struct PeerEntry {
  std::string_view name;
  std::string_view packages;  // what to install, as a text; empty: nothing
  bool polls = false;         // has a way to wait without sleeping
  bool sleeps = false;
  Result<Outcome> (*measure)(SharedBoard&, const PeerCase&) = nullptr;  // null: not built in
  std::string (*version)() = nullptr;
  Result<Server> (*start_server)() = nullptr;  // null: needs none
};

// Beeline is the first.
[[nodiscard]] std::span<const PeerEntry> peer_entries();

// Null: there is none of that name.
[[nodiscard]] const PeerEntry* find_peer(std::string_view name);

// One for each file. Entries of libraries exist if the libraries were found.
[[nodiscard]] PeerEntry beeline_entry();
[[nodiscard]] PeerEntry boost_queue_entry();
[[nodiscard]] PeerEntry boost_ring_entry();
[[nodiscard]] PeerEntry pipe_entry();
[[nodiscard]] PeerEntry posix_queue_entry();
[[nodiscard]] PeerEntry unix_socket_entry();
[[nodiscard]] PeerEntry aeron_entry();
[[nodiscard]] PeerEntry iceoryx_entry();
[[nodiscard]] PeerEntry nats_entry();
[[nodiscard]] PeerEntry nng_entry();
[[nodiscard]] PeerEntry redis_entry();
[[nodiscard]] PeerEntry zeromq_entry();

// The version of the running kernel, for peers that the kernel provides.
[[nodiscard]] std::string kernel_version();

}  // namespace beeline::bench::peers
