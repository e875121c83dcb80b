#include "bench/peers/registry.h"

#include <sys/utsname.h>

#include <algorithm>
#include <array>

namespace beeline::bench::peers {
namespace {

[[maybe_unused]] PeerEntry missing(std::string_view name, std::string_view packages) {
  PeerEntry peer;
  peer.name = name;
  peer.packages = packages;
  return peer;
}

// Each is 1 or 0: whether CMake found the library.
#if BEELINE_PEER_AERON
PeerEntry make_aeron() { return aeron_entry(); }
#else
PeerEntry make_aeron() {
  return missing("aeron", "Aeron's C client and media driver, which are not in Debian,");
}
#endif
#if BEELINE_PEER_ICEORYX
PeerEntry make_iceoryx() { return iceoryx_entry(); }
#else
PeerEntry make_iceoryx() { return missing("iceoryx", "libiceoryx-posh-dev iceoryx"); }
#endif
#if BEELINE_PEER_ZEROMQ
PeerEntry make_zeromq() { return zeromq_entry(); }
#else
PeerEntry make_zeromq() { return missing("zeromq", "libzmq3-dev"); }
#endif
#if BEELINE_PEER_NNG
PeerEntry make_nng() { return nng_entry(); }
#else
PeerEntry make_nng() { return missing("nng", "libnng-dev"); }
#endif
#if BEELINE_PEER_REDIS
PeerEntry make_redis() { return redis_entry(); }
#else
PeerEntry make_redis() { return missing("redis", "libhiredis-dev redis-server"); }
#endif
#if BEELINE_PEER_NATS
PeerEntry make_nats() { return nats_entry(); }
#else
PeerEntry make_nats() { return missing("nats", "libnats-dev nats-server"); }
#endif

}  // namespace

std::span<const PeerEntry> peer_entries() {
  static const std::array all{beeline_entry(),     boost_ring_entry(),  make_aeron(),
                              make_iceoryx(),      boost_queue_entry(), pipe_entry(),
                              posix_queue_entry(), unix_socket_entry(), make_zeromq(),
                              make_nng(),          make_redis(),        make_nats()};
  return all;
}

const PeerEntry* find_peer(std::string_view name) {
  const auto all = peer_entries();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [name](const PeerEntry& peer) { return peer.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::string kernel_version() {
  utsname names{};
  return ::uname(&names) == 0 ? std::string("Linux ") + names.release : "Linux";
}

}  // namespace beeline::bench::peers
