// Chaos: 32 agents in a tree under load. One is killed every 14 ms and started again as its own
// successor, others are stopped for some ms, and the coordinator is killed every two seconds. The
// keeper is spared: coordinator_restart_test covers its end. Half of the time everything has one
// CPU,
// half of the time two.
//
// After each phase there is a rest: nothing may be missing. The resources of keeper, coordinator
// and
// elder agents must not grow from the first third of the rests to the last.
//
// BEELINE_SOAK=1 takes 25 minutes.

#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "src/os/clock.h"
#include "tests/fault/chaos_board.h"
#include "tests/fault/fault_test.h"
#include "tests/fault/holdings.h"

namespace beeline::test {
namespace {

struct Form {
  int phases;
  std::chrono::milliseconds phase;
  int kills_of_phase;
};
constexpr Form kShortForm{6, 5000ms, 270};
constexpr Form kSoakForm{150, 9500ms, 520};
// Messages from each to each for every kill: 0.8 million in all in the short form.
constexpr std::uint64_t kMessagesOfKill = 3;

// The growth that is allowed from the first third of the rests to the last. Links, records and
// sessions are the same in every rest. So in the long form one leak per phase would show, and in
// the short form three: that is less than one for every hundred kills.
constexpr std::size_t kMoreFds = 8;       // an agent may know this many of four ended lives
constexpr std::size_t kMoreMappings = 8;  // the same; heap and stack may be split into more
// The keeper in a rest: process, home, status page and eventfd of each agent, every link, and its
// own descriptors: directory, socket, lock, log, the socketpair and others.
constexpr std::size_t kMostKeeperFds = 4 * kAgents + links_of_all() + 16;
// Pages that the allocator keeps after the largest burst so far: less than half a KiB for each kill
// in between.
constexpr std::size_t kMorePrivateKib = 1024;
// Slabs that links have needed at once; more for older lives. Less than two pages for each kill in
// between; a home alone has thirty.
constexpr std::size_t kMoreSegmentKib = 16384;

// The faults of one phase, drawn from the seed: their times and victims. A fault never comes early.
// On a machine that is too slow it comes later, with the drawn pauses.
class Plan {
 public:
  explicit Plan(std::uint64_t seed) : random_(seed) {
    const Deadline now = std::chrono::steady_clock::now();
    kill_ = now + pause(14ms);
    stop_ = now + pause(25ms);
    coordinator_ = now + 1s;
  }
  [[nodiscard]] bool kills(Deadline now) { return take(kill_, now, pause(14ms)); }
  [[nodiscard]] bool stops(Deadline now) { return take(stop_, now, pause(25ms)); }
  [[nodiscard]] bool kills_coordinator(Deadline now) { return take(coordinator_, now, 2s); }
  [[nodiscard]] std::uint32_t agent() { return static_cast<std::uint32_t>(random_() % kAgents); }
  // Mostly some ms, now and then longer than anybody waits.
  [[nodiscard]] std::chrono::nanoseconds stop_time() {
    return random_() % 32 == 0 ? pause(300ms) : pause(10ms);
  }
  [[nodiscard]] Deadline next() const { return std::min({kill_, stop_, coordinator_}); }

 private:
  // Up to twice the mean.
  std::chrono::nanoseconds pause(std::chrono::nanoseconds mean) {
    return std::chrono::nanoseconds(1 + random_() % static_cast<std::uint64_t>(2 * mean.count()));
  }
  static bool take(Deadline& due, Deadline now, std::chrono::nanoseconds pause) {
    if (now < due) return false;
    due = std::max(due, now - 5ms) + pause;
    return true;
  }

  Random random_;
  Deadline kill_;
  Deadline stop_;
  Deadline coordinator_;
};

class ChaosTest : public FaultTest {
 protected:
  void SetUp() override {
    CPU_ZERO(&all_cpus_);
    ASSERT_EQ(::sched_getaffinity(0, sizeof(all_cpus_), &all_cpus_), 0);
    start_faults("chaos_test", is_soak() ? 2h : 14min, sizeof(ChaosBoard));
    if (!HasFatalFailure()) board().seed = seed();
  }
  void TearDown() override {
    (void)::sched_setaffinity(0, sizeof(all_cpus_), &all_cpus_);
    FaultTest::TearDown();
  }
  Ledger& ledger() override { return board().ledger; }
  ChaosBoard& board() { return memory_.as<ChaosBoard>(); }

  void play(const Form& form) {
    for (std::uint32_t agent = 0; agent < kAgents; ++agent) {
      const bool has_parent = agent != 0;
      if (has_parent) {
        attend_until([&] { return board().joined[parent_of(agent)].load() != 0; });
      }
      ASSERT_EQ(troupe().start("chaos_agent", agent), agent);
    }
    for (int phase = 0; phase < form.phases; ++phase) {
      ASSERT_NO_FATAL_FAILURE(use_cpus(phase % 2 == 0 ? 2 : 1));
      ASSERT_NO_FATAL_FAILURE(rage(form, Plan(mix(seed() + static_cast<std::uint64_t>(phase)))));
      ASSERT_NO_FATAL_FAILURE(rest(phase + 1));
      if (HasFailure()) return;
    }
    board().over.store(1);
    ASSERT_NO_FATAL_FAILURE(await_ends());
    expect_no_fault();
    expect_no_growth();
    report(form.phases);
  }

 private:
  // Pins all processes of this hive, and this one, from which new agents inherit. The keeper comes
  // before the coordinator, because the next coordinators inherit from the keeper.
  void use_cpus(int most) {
    cpu_set_t some;
    CPU_ZERO(&some);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&some) < most; ++cpu) {
      if (CPU_ISSET(cpu, &all_cpus_)) CPU_SET(cpu, &some);
    }
    ASSERT_EQ(::sched_setaffinity(0, sizeof(some), &some), 0);
    std::vector<pid_t> processes{hive().keeper(), hive().coordinator()};
    for (std::size_t i = 0; i < troupe().size(); ++i) processes.push_back(troupe().os_pid(i));
    for (const pid_t process : processes) {
      if (process > 0) (void)::sched_setaffinity(process, sizeof(some), &some);
    }
    note("all have CPUs: " + std::to_string(CPU_COUNT(&some)));
  }

  // One phase: at least this long, and at least this many kills.
  void rage(const Form& form, Plan plan) {
    board().rest.store(0);
    const Deadline end = after(form.phase);
    for (int killed = 0; killed < form.kills_of_phase || std::chrono::steady_clock::now() < end;) {
      const Deadline now = std::chrono::steady_clock::now();
      if (plan.kills(now) && kill_agent(plan.agent())) ++killed;
      if (plan.stops(now)) stop_agent(plan.agent(), now + plan.stop_time());
      if (plan.kills_coordinator(now) && kill_coordinator()) ++killed;
      let_go_on(now);
      expect_no_fault();
      if (HasFailure()) return;
      const Deadline next = stopped_.empty() ? plan.next() : std::min(plan.next(), first_stopped());
      ASSERT_NO_FATAL_FAILURE(attend(next - std::chrono::steady_clock::now(), false));
    }
    let_go_on(Deadline::max());
  }

  bool kill_agent(std::uint32_t agent) {
    if (std::count(kElders.begin(), kElders.end(), agent) != 0) return false;
    const bool had_joined = board().joined[agent].exchange(0) != 0;
    board().killed_ns[agent].store(os::monotonic_ns());
    if (!kill_player(agent)) return false;
    stopped_.erase(agent);
    ++kills_;
    if (!had_joined) ++kills_while_joining_;
    board().allowance.fetch_add(kMessagesOfKill);
    return true;
  }

  void stop_agent(std::uint32_t agent, Deadline until) {
    if (troupe().os_pid(agent) == 0 || ::kill(troupe().os_pid(agent), SIGSTOP) != 0) return;
    note("stopped " + name_of(agent));
    stopped_[agent] = until;
    ++stops_;
  }

  void let_go_on(Deadline now) {
    for (auto it = stopped_.begin(); it != stopped_.end();) {
      if (it->second > now) {
        ++it;
        continue;
      }
      if (troupe().os_pid(it->first) != 0) ::kill(troupe().os_pid(it->first), SIGCONT);
      note("continued " + name_of(it->first));
      it = stopped_.erase(it);
    }
  }

  [[nodiscard]] Deadline first_stopped() const {
    Deadline first = Deadline::max();
    for (const auto& [agent, until] : stopped_) first = std::min(first, until);
    return first;
  }

  // No kills and no sends. All accepted messages arrive, and links of the dead fade.
  void rest(int number) {
    board().rest.store(static_cast<std::uint32_t>(number));
    const auto rests = [&](const auto& of_agent) {
      return of_agent.load() == static_cast<std::uint32_t>(number);
    };
    const auto all_rest = [&] {
      return std::all_of(std::begin(board().rests), std::end(board().rests), rests);
    };
    const auto who_does_not = [&] {
      std::string names;
      for (std::uint32_t i = 0; i < kAgents; ++i) {
        if (!rests(board().rests[i])) names += ' ' + name_of(i);
      }
      return names.empty() ? names : "something is left with" + names;
    };
    ASSERT_NO_FATAL_FAILURE(attend_until(all_rest, who_does_not));
    ASSERT_NO_FATAL_FAILURE(await_all_finished());
    ASSERT_NO_FATAL_FAILURE(
        attend_until([&] { return all_rest() && hive().status().links == links_of_all(); },
                     [&] { return who_does_not() + '\n' + describe_links(); }));
    const auto keeper_fds = [&] { return holdings_of(hive().keeper()).fds; };
    ASSERT_NO_FATAL_FAILURE(
        attend_until([&] { return keeper_fds() <= kMostKeeperFds; },
                     [&] { return "the keeper has fds: " + std::to_string(keeper_fds()); }));
    expect_no_fault();
    std::printf("  rest %d: fds, mappings, KiB of its own, KiB in segments of\n", number);
    measure("keeper", hive().keeper());
    measure("coordinator", hive().coordinator());
    for (const std::uint32_t elder : kElders) measure(name_of(elder), troupe().os_pid(elder));
  }

  // Links that exist and should not, or the other way round.
  [[nodiscard]] std::string describe_links() {
    auto client = hive().client();
    const auto agents = client.list_all();
    if (!agents) return agents.error().text;
    std::map<shm::Incarnation, std::string> lives;
    for (const auto& agent : *agents) lives[agent.incarnation] = agent.name;
    std::string text = "the links are " + std::to_string(hive().status().links) + ", not " +
                       std::to_string(links_of_all()) + ':';
    for (std::uint32_t to = 0; to < kAgents; ++to) {
      std::size_t expected = 0;
      for (std::uint32_t from = 0; from < kAgents; ++from) {
        expected += writes(from, to) || writes(to, from) ? 1 : 0;
      }
      const auto links = client.links_to(board().pids[to].load(), true);
      if (!links) return links.error().text;
      for (const auto& link : *links) {
        if (lives.count(link.incarnation) != 0) continue;
        text += "\n  to " + name_of(to) + " one of the dead " +
                std::to_string(link.incarnation.value()) + ", serial " +
                std::to_string(link.serial);
      }
      if (links->size() == expected) continue;
      text += "\n  to " + name_of(to) + ' ' + std::to_string(links->size()) + ", expected " +
              std::to_string(expected);
    }
    return text;
  }

  void measure(const std::string& who, pid_t process) {
    const Holdings holdings = holdings_of(process);
    note(who + " holds " + describe(holdings));
    std::printf("    %-12s %4zu %4zu %6zu %7zu\n", who.c_str(), holdings.fds, holdings.mappings,
                holdings.private_kib, holdings.segment_kib);
    std::fflush(stdout);
    held_[who].push_back(holdings);
  }

  void expect_no_growth() const {
    for (const auto& [who, rests] : held_) {
      const auto third = static_cast<std::ptrdiff_t>(rests.size() / 3);
      const std::vector<Holdings> first(rests.begin(), rests.begin() + third);
      const std::vector<Holdings> last(rests.end() - third, rests.end());
      const auto expect_flat = [&, &name = who](std::size_t Holdings::*what, std::size_t more,
                                                const char* unit) {
        EXPECT_LE(most(last, what), most(first, what) + more)
            << "the " << unit << " of the " << name << " grow; see the events";
      };
      expect_flat(&Holdings::fds, kMoreFds, "fds");
      expect_flat(&Holdings::mappings, kMoreMappings, "mappings");
      expect_flat(&Holdings::private_kib, kMorePrivateKib, "KiB of its own");
      expect_flat(&Holdings::segment_kib, kMoreSegmentKib, "KiB in segments");
    }
  }

  [[nodiscard]] static std::size_t most(const std::vector<Holdings>& rests,
                                        std::size_t Holdings::*what) {
    std::size_t most = 0;
    for (const Holdings& each : rests) most = std::max(most, each.*what);
    return most;
  }

  void report(int phases) {
    std::vector<std::uint32_t> restarts = board().restarts.us();
    std::sort(restarts.begin(), restarts.end());
    const auto at = [&](std::size_t percent) {
      return restarts.empty() ? 0 : restarts[(restarts.size() - 1) * percent / 100] / 1000.0;
    };
    std::printf(
        "chaos_test: %d phases, %d agents killed (%d while joining), %d stopped, %d coordinators "
        "killed, %d joins failed\n"
        "  %llu accepted, %llu redelivered and flagged, %llu questions, %llu answers, %llu copies, "
        "%llu rejected, %llu put back\n"
        "  from kill to attached: p50 %.1f ms, p90 %.1f ms, p99 %.1f ms, of %zu\n",
        phases, kills_, kills_while_joining_, stops_, coordinators(), failed_joins(),
        as_long(ledger().accepted()), as_long(ledger().received_again()),
        as_long(board().questions), as_long(board().answers), as_long(board().copies),
        as_long(board().rejected), as_long(board().put_back), at(50), at(90), at(99),
        restarts.size());
  }
  static unsigned long long as_long(std::uint64_t number) { return number; }

  cpu_set_t all_cpus_{};
  std::map<std::uint32_t, Deadline> stopped_;  // agents, and the time when each goes on
  std::map<std::string, std::vector<Holdings>> held_;
  int kills_ = 0;
  int kills_while_joining_ = 0;
  int stops_ = 0;
};

TEST_F(ChaosTest, ATreeOfAgentsLosesNothingWhateverDies) {
  play(is_soak() ? kSoakForm : kShortForm);
}

}  // namespace
}  // namespace beeline::test
