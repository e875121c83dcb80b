#include "bench/idle.h"

#include <chrono>
#include <cstdint>
#include <thread>

#include "bench/gathering.h"
#include "bench/proc.h"
#include "bench/run.h"
#include "src/os/clock.h"

namespace beeline::bench {
namespace {

// The time from the last message to the long sleeps; until then an agent is not idle.
constexpr auto kSettle = std::chrono::milliseconds(1500);

struct CpuTimes {
  std::int64_t at_ns = 0;
  std::int64_t members_ns = 0;
  std::int64_t lead_ns = 0;
  std::int64_t coordinator_ns = 0;
  std::int64_t keeper_ns = 0;
};

Result<CpuTimes> read_times(Gathering& gathering, std::size_t members) {
  CpuTimes times;
  Result<void> good;
  const auto add = [&](std::int64_t& sum, pid_t process) {
    const auto time = cpu_ns_of(process);
    if (time) sum += *time;
    if (!time && good) good = tl::unexpected(time.error());
  };
  times.at_ns = os::monotonic_ns();
  for (std::size_t i = 0; i < members; ++i) add(times.members_ns, gathering.member(i));
  add(times.lead_ns, gathering.lead());
  add(times.coordinator_ns, gathering.keepers().coordinator);
  add(times.keeper_ns, gathering.keepers().keeper);
  if (!good) return tl::unexpected(good.error());
  return times;
}

// Milliseconds in ten seconds.
double per_10s(std::int64_t cpu_ns, std::int64_t elapsed_ns) {
  return rounded(static_cast<double>(cpu_ns) / static_cast<double>(elapsed_ns) * 1e4);
}

// The lead sleeps as an agent does: in receive(), until a member says hello.
Result<void> sleep_until_hello(CrowdPage& page, Agent& agent, const std::vector<Peer>&) {
  if (auto hello = await_hello(agent); !hello) return tl::unexpected(hello.error());
  make_step(page);
  return {};
}

Result<Row> measure(const Case& what, std::size_t members) {
  auto gathering = Gathering::start(what, members, nullptr, sleep_until_hello);
  if (!gathering) return tl::unexpected(gathering.error());
  if (auto added = gathering->add_all(nullptr); !added) return tl::unexpected(added.error());
  std::this_thread::sleep_for(kSettle);
  const auto before = read_times(*gathering, members);
  if (!before) return tl::unexpected(before.error());
  std::this_thread::sleep_for(std::chrono::duration<double>(what.seconds));
  const auto after = read_times(*gathering, members);
  if (!after) return tl::unexpected(after.error());
  if (auto called = gathering->say_hello(); !called) return tl::unexpected(called.error());
  if (auto closed = gathering->close(); !closed) return tl::unexpected(closed.error());
  const std::int64_t elapsed = after->at_ns - before->at_ns;
  const std::int64_t members_ns = after->members_ns - before->members_ns;
  const std::int64_t lead_ns = after->lead_ns - before->lead_ns;
  const std::int64_t coordinator_ns = after->coordinator_ns - before->coordinator_ns;
  const std::int64_t keeper_ns = after->keeper_ns - before->keeper_ns;
  Row row;
  row["agents"] = members + 1;
  row["cpu_ms_per_10s"] = per_10s(members_ns + lead_ns + coordinator_ns + keeper_ns, elapsed);
  // Shows that something was measured: the CPU time until then, mostly for attaching.
  row["cpu_ms_before"] = rounded(static_cast<double>(before->members_ns + before->lead_ns +
                                                     before->coordinator_ns + before->keeper_ns) /
                                 1e6);
  row["agents_ms_per_10s"] = per_10s(members_ns + lead_ns, elapsed);
  row["coordinator_ms_per_10s"] = per_10s(coordinator_ns, elapsed);
  row["keeper_ms_per_10s"] = per_10s(keeper_ns, elapsed);
  row["seconds"] = rounded(static_cast<double>(elapsed) / 1e9);
  row["mode"] = to_string(what.mode);
  row["cpus"] = {what.cpus.ping, what.cpus.pong};
  return row;
}

class Idle final : public Benchmark {
 public:
  Idle()
      : Benchmark({.name = "idle",
                   .help = "What agents with nothing to do take of the CPUs",
                   .about = "milliseconds of CPU in ten seconds: all of it, and whose; the lead of "
                            "the agents is one of them",
                   .columns = {{"agents", "/agents"},
                               {"mode", "/mode", 8},
                               {"all", "/cpu_ms_per_10s", 9, 1.0, 2},
                               {"agents'", "/agents_ms_per_10s", 9, 1.0, 2},
                               {"coord.'s", "/coordinator_ms_per_10s", 9, 1.0, 2},
                               {"keeper's", "/keeper_ms_per_10s", 9, 1.0, 2},
                               {"seconds", "/seconds", 8, 1.0, 1}}}) {}

  void add_flags(CLI::App& command) override {
    flags_.add_run(command, 10.0).add_modes(command, {WaitMode::kAdaptive});
    command.add_option("--agents", agents_, "How many; several with commas")
        ->default_str("50")
        ->delimiter(',')
        ->check(CLI::Range(std::size_t{2}, kMostInCrowd));
  }

  Result<void> run(Sink& out) override {
    out.open(flags_.cpus());
    Case all;
    all.seconds = flags_.seconds();
    for (const Case& what : flags_.cases({all})) {
      for (const std::size_t agents : agents_) {
        auto row = measure(what, agents - 1);
        if (!row) return tl::unexpected(row.error());
        out.add(std::move(*row));
      }
    }
    return {};
  }

 private:
  std::vector<std::size_t> agents_{50};
};

}  // namespace

std::unique_ptr<Benchmark> make_idle() { return std::make_unique<Idle>(); }

}  // namespace beeline::bench
