#include "bench/agent_parts.h"

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include <beeline/agent.h>

#include "tools/beeline/scratch_hive.h"

namespace beeline::bench {
namespace {

constexpr std::size_t kBatch = 100;  // nearly as many as a lane holds
constexpr std::size_t kBytes = 64;

using Clock = std::chrono::steady_clock;

// Two agents of a hive, and the messages that one of them has sent to the other.
class Pair {
 public:
  // Errors: those of ScratchHive::start(), Agent::attach() and Agent::peer().
  [[nodiscard]] static Result<Pair> start() {
    auto hive = cli::ScratchHive::start("bench");
    if (!hive) return tl::unexpected(hive.error());
    auto from = attach("from", "");
    if (!from) return tl::unexpected(from.error());
    auto to = attach("to", "from");
    if (!to) return tl::unexpected(to.error());
    const auto peer = from->peer("to");
    if (!peer) return tl::unexpected(peer.error());
    return Pair(std::move(*hive), std::move(*from), std::move(*to), *peer);
  }

  bool send() {
    for (std::size_t i = 0; i < kBatch; ++i) {
      if (!from_.send(peer_, payload_)) return false;
    }
    return true;
  }
  bool receive() {
    for (Message& message : taken_) {
      auto next = to_.receive();
      if (!next) return false;
      message = std::move(*next);
    }
    return true;
  }
  bool finish() {
    for (auto message = taken_.rbegin(); message != taken_.rend(); ++message) message->done();
    return true;
  }
  // Reads and finishes each message before it receives the next.
  bool receive_and_finish() {
    for (std::size_t i = 0; i < kBatch; ++i) {
      auto next = to_.receive();
      if (!next || next->payload().size() != kBytes) return false;
      benchmark::DoNotOptimize(next->payload()[0]);
      next->done();
    }
    return true;
  }

 private:
  Pair(cli::ScratchHive hive, Agent from, Agent to, Peer peer)
      : hive_(std::move(hive)), from_(std::move(from)), to_(std::move(to)), peer_(peer) {}

  static Result<Agent> attach(const char* name, const char* parent) {
    AttachOptions options;
    options.name = name;
    options.parent = parent;
    options.start_coordinator = false;
    options.temporary = true;
    return Agent::attach(options);
  }

  cli::ScratchHive hive_;
  Agent from_;
  Agent to_;
  Peer peer_;
  std::string payload_ = std::string(kBytes, 'b');
  std::array<Message, kBatch> taken_;
};

// Times one of the steps. The steps run in turn, each for a whole batch.
template <std::size_t kSteps>
void time_step(benchmark::State& state, Pair& pair,
               const std::array<bool (Pair::*)(), kSteps>& steps, std::size_t timed) {
  for (auto _ : state) {
    for (std::size_t i = 0; i < kSteps; ++i) {
      const auto start = Clock::now();
      if (!(pair.*steps[i])()) return state.SkipWithError("a message is missing");
      const std::chrono::duration<double> took = Clock::now() - start;
      if (i == timed) state.SetIterationTime(took.count());
    }
  }
}

}  // namespace

Result<std::vector<Part>> agent_parts() {
  auto started = Pair::start();
  if (!started) return tl::unexpected(started.error());
  const auto pair = std::make_shared<Pair>(std::move(*started));
  static constexpr std::array kEach{&Pair::send, &Pair::receive, &Pair::finish};
  static constexpr std::array kStream{&Pair::send, &Pair::receive_and_finish};
  const auto each = [&](std::size_t timed) {
    return [pair, timed](benchmark::State& state) { time_step(state, *pair, kEach, timed); };
  };
  const auto stream = [pair](benchmark::State& state) { time_step(state, *pair, kStream, 1); };
  return std::vector<Part>{{"agent: send", 0, each(0), kBatch},
                           {"agent: receive", 0, each(1), kBatch},
                           {"agent: done", 0, each(2), kBatch},
                           {"agent: receive, read, done", 0, stream, kBatch}};
}

}  // namespace beeline::bench
