#include "tests/support/hive_test.h"

#include <utility>

namespace beeline::test {

AttachOptions named(const std::string& name, const std::string& parent) {
  AttachOptions options;
  options.name = name;
  options.parent = parent;
  return options;
}

std::optional<Agent> attach(const AttachOptions& options) {
  auto agent = Agent::attach(options);
  if (agent) return std::move(*agent);
  ADD_FAILURE() << "attach " << options.name << ": " << agent.error().text;
  return std::nullopt;
}

std::optional<Agent> attach(const std::string& name, const std::string& parent) {
  return attach(named(name, parent));
}

Peer peer_of(Agent& agent, const std::string& name) {
  const Deadline deadline = patience();
  for (;;) {
    const auto peer = agent.peer(name);
    if (peer) return *peer;
    if (peer.error().code != ErrorCode::kNoAgent || std::chrono::steady_clock::now() > deadline) {
      ADD_FAILURE() << "peer " << name << ": " << peer.error().text;
      return {};
    }
    // Nobody is told of a new name; the wait also takes what the coordinator has to say.
    const auto none = agent.receive({.timeout = 5ms, .filter = {.reply_to = ~0ULL}});
    EXPECT_FALSE(none);
  }
}

Message next_message(Agent& agent, const Filter& filter) {
  auto message = agent.receive({.timeout = kPatience, .filter = filter});
  if (message) return std::move(*message);
  ADD_FAILURE() << agent.name() << " waits for a message: " << message.error().text;
  return {};
}

void expect_balance(const Agent& agent) {
  const InboxCounters now = agent.counters();
  EXPECT_EQ(now.drained, now.queued + now.leased + now.done + now.dead + now.purged)
      << agent.name() << ": queued " << now.queued << ", leased " << now.leased << ", done "
      << now.done << ", dead " << now.dead << ", purged " << now.purged;
}

void HiveTest::start(World world, std::chrono::seconds limit, std::size_t board_bytes) {
  hive_.emplace();
  ASSERT_GT(hive_->keeper(), 0) << "no hive, no test";
  memory_ = SharedMemory(board_bytes);
  troupe_.emplace(world, memory_);
  watchdog_.emplace(limit, [this] { hive_->kill_all(); });
}

void HiveTest::TearDown() {
  troupe_.reset();
  memory_ = {};
  if (hive_) hive_->close();
  watchdog_.reset();
  hive_.reset();
}

std::string world_name(const testing::TestParamInfo<World>& info) {
  return info.param == World::kThreads ? "Threads" : "Processes";
}

}  // namespace beeline::test
