#include "tests/support/hive_test.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "src/os/clock.h"
#include "src/os/process.h"
#include "tools/beeline/accounts.h"

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

std::optional<Agent> attach_again(const AttachOptions& options) {
  const Deadline deadline = patience();
  for (;;) {
    auto agent = Agent::attach(options);
    if (agent) return std::move(*agent);
    const bool soon = agent.error().code == ErrorCode::kAlreadyRunning ||
                      agent.error().code == ErrorCode::kClosed;
    if (soon && std::chrono::steady_clock::now() < deadline) continue;
    ADD_FAILURE() << "attach " << options.name << " does not succeed: " << agent.error().text;
    return std::nullopt;
  }
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
    // Nobody is told of a new name; the wait also reads the coordinator's announcements.
    const auto none = agent.receive({.timeout = 5ms, .filter = kNobody});
    EXPECT_FALSE(none);
  }
}

void drain_until(Agent& agent, const std::function<bool()>& is_over) {
  const Deadline deadline = patience();
  while (!is_over()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline)
        << agent.name() << " has drained " << agent.counters().drained << " and waits for more";
    const auto none = agent.receive({.timeout = 1ms, .filter = kNobody});
    ASSERT_FALSE(none);
    ASSERT_EQ(none.error().code, ErrorCode::kTimeout) << none.error().text;
  }
}

void await_drained(Agent& agent, std::uint64_t count) {
  drain_until(agent, [&] { return agent.counters().drained >= count; });
}

void drain_what_fits(Agent& agent) {
  std::uint64_t before = 0;
  do {
    before = agent.counters().drained;
    EXPECT_FALSE(agent.receive({.timeout = 1ms, .filter = kNobody}));
  } while (agent.counters().drained != before);
}

void await_queued(Agent& agent, std::uint64_t count) {
  drain_until(agent, [&] { return agent.counters().queued >= count; });
}

std::vector<std::string> take_texts(Agent& agent, const Filter& filter) {
  std::vector<std::string> texts;
  while (auto message = agent.try_receive(filter)) {
    texts.emplace_back(message->text());
    message->done();
  }
  return texts;
}

void let_pass(std::chrono::nanoseconds duration) {
  const std::int64_t until = os::coarse_ns() + duration.count();
  while (os::coarse_ns() <= until) os::yield();
}

Message next_message(Agent& agent, const Filter& filter) {
  auto message = agent.receive({.timeout = kPatience, .filter = filter});
  if (message) return std::move(*message);
  ADD_FAILURE() << agent.name() << " waits for a message: " << message.error().text;
  return {};
}

void expect_balance(const Agent& agent) {
  const InboxCounters now = agent.counters();
  EXPECT_EQ(now.drained, now.queued + now.tasks + now.leased + now.done + now.dead + now.purged)
      << agent.name() << ": queued " << now.queued << ", leased " << now.leased << ", done "
      << now.done << ", dead " << now.dead << ", purged " << now.purged;
}

void expect_balance_of_all(const ScratchHive& hive) {
  if (hive.is_closed()) return;
  // The coordinator may not know of the last ends yet, or may have just started.
  const Deadline deadline = after(10s);
  // An account that cannot be read may be on its way to the keeper. That of a liar stays
  // unreadable.
  constexpr auto kOnItsWay = 500ms;
  const Deadline until_readable = after(kOnItsWay);
  for (;; std::this_thread::sleep_for(2ms)) {
    control::ClientOptions options;
    options.start = false;
    auto client = control::Client::connect(options);
    const auto accounts = client ? cli::read_accounts(*client, hive.name(), {.missing = kOnItsWay})
                                 : Result<cli::HiveAccounts>(tl::unexpected(client.error()));
    const auto now = std::chrono::steady_clock::now();
    const auto settled = [&](const cli::Account& each) {
      return each.balanced() || (!each.is_readable() && now >= until_readable);
    };
    if (accounts && std::all_of(accounts->inboxes.begin(), accounts->inboxes.end(), settled)) {
      return;
    }
    if (now < deadline) continue;
    ASSERT_TRUE(accounts) << "the balance cannot be read: " << accounts.error().text;
    for (const cli::Account& each : accounts->inboxes) {
      EXPECT_EQ(each.accepted, each.accounted())
          << each.name << " (" << to_string(each.state) << "): in lanes " << each.in_lanes
          << ", queued " << each.queued << ", leased " << each.leased << ", done " << each.done
          << ", dead " << each.dead << ", purged " << each.purged;
    }
    return;
  }
}

void HiveTest::start(World world, std::chrono::seconds limit, std::size_t board_bytes) {
  hive_.emplace();
  ASSERT_GT(hive_->keeper(), 0) << "no hive, no test";
  memory_ = SharedMemory(board_bytes);
  troupe_.emplace(world, memory_);
  watchdog_.emplace(limit, [this] { hive_->kill_all(); });
}

void HiveTest::kill_or_release(std::size_t place, Event& leave, std::uint32_t by) {
  if (GetParam() == World::kProcesses) {
    troupe_->kill(place);
  } else {
    leave.raise(by);
    troupe_->wait(place, patience());
  }
}

void HiveTest::TearDown() {
  troupe_.reset();
  memory_ = {};
  if (hive_) expect_balance_of_all(*hive_);
  if (hive_) hive_->close();
  watchdog_.reset();
  hive_.reset();
}

std::string world_name(const testing::TestParamInfo<World>& info) {
  return info.param == World::kThreads ? "Threads" : "Processes";
}

}  // namespace beeline::test
