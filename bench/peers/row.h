#pragma once
// The measurement of one test of one peer, and the parts of its processes.

#include <cstdint>
#include <string>
#include <string_view>

#include "bench/case.h"
#include "bench/pair.h"

namespace beeline::bench::peers {

enum class PeerTest : std::uint8_t {
  kLatency,     // round trips, both sides poll
  kWake,        // round trips, both sides sleep
  kThroughput,  // one sender, one receiver
  kFanin,       // three senders on one CPU, one receiver on the other
  kFill,        // one sender, one receiver, payloads written and read whole
};

inline constexpr std::uint32_t kFaninSenders = 3;

struct PeerCase : Case {
  PeerTest test = PeerTest::kLatency;
  std::uint32_t senders = 1;
  std::string server;  // the address of the peer's server, if it has one
  std::string scope;   // a name on this machine that no other row has

  [[nodiscard]] bool is_round_trip() const {
    return test == PeerTest::kLatency || test == PeerTest::kWake;
  }
  [[nodiscard]] bool sleeps() const { return mode == WaitMode::kSleep; }
};

// The part of one process. There are two channels: the ping side sends on 0; on 1 the pong side
// sends, in round trips only.
struct Place {
  Side side = Side::kPing;
  std::uint32_t sender = 0;  // of several on the ping side
  bool round_trip = true;

  [[nodiscard]] bool sends() const { return side == Side::kPing || round_trip; }
  [[nodiscard]] bool receives() const { return side == Side::kPong || round_trip; }
  [[nodiscard]] std::size_t out() const { return side == Side::kPing ? 0 : 1; }
  [[nodiscard]] std::size_t in() const { return 1 - out(); }
};

[[nodiscard]] constexpr std::string_view to_string(PeerTest test) {
  switch (test) {
    case PeerTest::kLatency:
      return "latency";
    case PeerTest::kWake:
      return "wake";
    case PeerTest::kThroughput:
      return "throughput";
    case PeerTest::kFanin:
      return "fanin";
    case PeerTest::kFill:
      return "fill";
  }
  return "unknown";
}

}  // namespace beeline::bench::peers
