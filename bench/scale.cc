#include "bench/scale.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "bench/attempts.h"
#include "bench/gathering.h"
#include "bench/limit.h"
#include "bench/proc.h"
#include "bench/run.h"
#include "bench/scale_roles.h"
#include "src/os/clock.h"

namespace beeline::bench {
namespace {

struct Extras {
  bool talk = false;
  std::size_t lives = 0;
};

std::uint32_t number_of(LeadTask task) { return static_cast<std::uint32_t>(task); }

// p50, p99 and max of so many durations, in microseconds.
Row microseconds(const std::array<std::int64_t, kMostInCrowd>& durations_ns, std::size_t count) {
  const auto histogram = std::make_unique<Histogram>();
  for (std::size_t i = 0; i < count; ++i) histogram->record(durations_ns[i]);
  const auto us = [](std::uint64_t ns) { return rounded(static_cast<double>(ns) / 1e3); };
  return {{"p50", us(histogram->percentile(50.0))},
          {"p99", us(histogram->percentile(99.0))},
          {"max", us(histogram->max())}};
}

double per(std::uint64_t all, std::size_t count) {
  return rounded(static_cast<double>(all) / static_cast<double>(count));
}

// Descriptors that a process of the crowd inherited from us; its agent does not own them.
std::size_t inherited_fds() {
  return footprint_of(::getpid()).fds - 1;  // without that of the listing itself
}

// The resources of the members, their lead and the coordinator. `base_kib`: before there were
// members.
void add_footprint(Row& row, Gathering& gathering, std::size_t members, std::uint64_t base_kib) {
  const std::uint64_t all_kib = segment_kib_of(gathering.keepers().keeper);
  row["resident_kib_per_agent"] = per(all_kib - std::min(base_kib, all_kib), members);
  const Footprint member = footprint_of(gathering.member(members - 1));
  row["process_kib_of_agent"] = member.resident_kib;
  row["page_table_kib_of_agent"] = member.page_table_kib;
  row["fds_of_agent"] = member.fds - std::min(member.fds, inherited_fds());
  row["mappings_of_agent"] = member.mappings;
  const Footprint lead = footprint_of(gathering.lead());
  row["fds_of_lead"] = lead.fds;
  row["mappings_of_lead"] = lead.mappings;
  row["page_table_kib_of_lead"] = lead.page_table_kib;
  const Footprint coordinator = footprint_of(gathering.keepers().coordinator);
  row["fds_of_coordinator"] = coordinator.fds;
  row["process_kib_of_coordinator"] = coordinator.resident_kib;
  row["fds_of_keeper"] = footprint_of(gathering.keepers().keeper).fds;
}

// Round trips with the first and the last member, the limit before and after them, and another
// attempt if the machine changed.
Result<Outcome> measure_ends(Gathering& gathering, SharedBoard& board, Case limit) {
  limit.seconds = std::min(limit.seconds, 0.1);
  const auto bare = [&]() -> Result<std::uint64_t> {
    board.clear();
    const auto done = run_pair(*board, limit.seconds, [&](Side side) -> Result<void> {
      if (auto pinned = pin(limit.cpus.of(side)); !pinned) return pinned;
      play_limit(*board, side, limit.limit(), limit.seconds, board->rounds, kLimitItself);
      return {};
    });
    if (!done) return tl::unexpected(done.error());
    return board->rounds.percentile(50.0);
  };
  return measure_until_stable(limit.most_attempts, [&]() -> Result<Outcome> {
    const auto before = bare();
    if (!before) return tl::unexpected(before.error());
    const auto done = gathering.crowd().order(number_of(LeadTask::kRoundTrips));
    if (!done) return tl::unexpected(done.error());
    const auto after = bare();
    if (!after) return tl::unexpected(after.error());
    Outcome outcome;
    outcome.limit = {*before, *after};
    outcome.count = result_of(gathering.crowd().page(), LeadResult::kRounds);
    return outcome;
  });
}

Result<void> add_talk(Row& row, Gathering& gathering, std::size_t members) {
  const std::uint64_t before = segment_kib_of(gathering.keepers().keeper);
  if (auto done = gathering.crowd().order(number_of(LeadTask::kTalk)); !done) return done;
  const std::uint64_t links = members * (members - 1);
  row["talk_links"] = links;
  row["talk_ms"] =
      rounded(static_cast<double>(result_of(gathering.crowd().page(), LeadResult::kTalk)) / 1e6);
  row["talk_kib_per_link"] =
      per(segment_kib_of(gathering.keepers().keeper) - before, std::max<std::size_t>(links, 1));
  return {};
}

Result<void> add_lives(Row& row, Gathering& gathering, int cpu, std::size_t lives) {
  const pid_t keeper = gathering.keepers().keeper;
  const std::uint64_t kib_before = segment_kib_of(keeper);
  const std::size_t fds_before = footprint_of(keeper).fds;
  const std::int64_t start = os::monotonic_ns();
  const auto guest = gathering.crowd().start([&](CrowdPage& page) -> Result<void> {
    if (auto pinned = pin(cpu); !pinned) return pinned;
    return play_lives(page, lives);
  });
  if (!guest) return tl::unexpected(guest.error());
  if (auto done = gathering.crowd().order(number_of(LeadTask::kLives)); !done) return done;
  Crowd::await_end(*guest);
  row["lives"] = lives;
  row["lives_per_s"] =
      rounded(static_cast<double>(lives) * 1e9 / static_cast<double>(os::monotonic_ns() - start));
  row["life_us"] = {
      {"p50",
       rounded(static_cast<double>(result_of(gathering.crowd().page(), LeadResult::kLife)) / 1e3)}};
  row["lives_kib_grown"] =
      static_cast<std::int64_t>(segment_kib_of(keeper)) - static_cast<std::int64_t>(kib_before);
  row["lives_fds_grown"] =
      static_cast<std::int64_t>(footprint_of(keeper).fds) - static_cast<std::int64_t>(fds_before);
  return {};
}

Result<Row> measure(SharedBoard& board, const Case& what, std::size_t members,
                    const Extras& extras) {
  const auto first = [&](CrowdPage& page, Agent& agent, const std::vector<Peer>& peers) {
    return measure_alone(page, agent, peers, what);
  };
  const auto then = [&](CrowdPage& page, Agent& agent, const std::vector<Peer>& peers) {
    return obey(page, agent, peers, what);
  };
  auto gathering = Gathering::start(what, members, first, then);
  if (!gathering) return tl::unexpected(gathering.error());
  const std::uint64_t base_kib = segment_kib_of(gathering->keepers().keeper);
  const std::int64_t start = os::monotonic_ns();
  if (auto added = gathering->add_all(make_talker()); !added) return tl::unexpected(added.error());
  CrowdPage& page = gathering->crowd().page();
  Row row;
  row["agents"] = members;
  row["attach_us"] = microseconds(page.attach_ns, members);
  row["link_us"] = microseconds(page.link_ns, members);
  row["gather_ms"] = rounded(static_cast<double>(os::monotonic_ns() - start) / 1e6);
  row["hive_start_ms"] = rounded(static_cast<double>(gathering->hive_start_ns()) / 1e6);
  add_footprint(row, *gathering, members, base_kib);
  const auto outcome = measure_ends(*gathering, board, what);
  if (!outcome) return tl::unexpected(outcome.error());
  row["alone_rtt_ns"] = result_of(page, LeadResult::kAlone);
  row["first_rtt_ns"] = result_of(page, LeadResult::kFirst);
  row["last_rtt_ns"] = result_of(page, LeadResult::kLast);
  if (extras.talk) {
    if (auto done = add_talk(row, *gathering, members); !done) return tl::unexpected(done.error());
  }
  if (extras.lives > 0) {
    auto done = add_lives(row, *gathering, what.cpus.pong, extras.lives);
    if (!done) return tl::unexpected(done.error());
  }
  add_conditions(row, what, *outcome);
  auto ended = gathering->crowd().order(number_of(LeadTask::kEnd));
  if (ended) ended = gathering->close();
  if (!ended) return tl::unexpected(ended.error());
  return row;
}

Description describe() {
  return {.name = "scale",
          .help = "What agents, their links and their attaching cost, for more and more of them",
          .about =
              "children of one parent; attach in us, KiB of segments and fds of each, round "
              "trips in ns, both ends awake and the others asleep (mode sleep: all asleep): with "
              "the first while it was alone, then with the first and the last",
          .columns = {{"agents", "/agents", 7},
                      {"attach", "/attach_us/p50", 7},
                      {"p99", "/attach_us/p99", 7},
                      {"link", "/link_us/p50", 7},
                      {"KiB", "/resident_kib_per_agent", 6, 1.0, 1},
                      {"PTE KiB", "/page_table_kib_of_agent", 7},
                      {"fds", "/fds_of_agent", 5},
                      {"maps", "/mappings_of_agent", 5},
                      {"parent's", "/fds_of_lead", 8},
                      {"alone", "/alone_rtt_ns", 8},
                      {"first", "/first_rtt_ns", 8},
                      {"last", "/last_rtt_ns", 8},
                      {"limit", "/limit_rtt_ns/p50", 8},
                      {"all to all ms", "/talk_ms", 13},
                      {"life us", "/life_us/p50", 8}}};
}

class Scale final : public Benchmark {
 public:
  Scale() : Benchmark(describe()) {}

  void add_flags(CLI::App& command) override {
    flags_.add_run(command, 0.1).add_attempts(command).add_modes(command, {WaitMode::kAdaptive});
    command.add_option("--agents", agents_, "How many; several with commas")
        ->default_str("100")
        ->delimiter(',')
        ->check(CLI::Range(std::size_t{1}, kMostInCrowd));
    command.add_flag("--all-to-all", extras_.talk,
                     "Then every agent opens a link to every other and sends it a message");
    command
        .add_option("--lives", extras_.lives,
                    "Then an agent comes, opens a link, has a message answered and goes, so often")
        ->check(CLI::Range(0, 1'000'000));
  }

  Result<void> run(Sink& out) override {
    auto board = SharedBoard::create();
    if (!board) return tl::unexpected(board.error());
    out.open(flags_.cpus());
    Case all;
    all.seconds = flags_.seconds();
    for (const Case& what : flags_.cases({all})) {
      for (const std::size_t members : agents_) {
        auto row = measure(*board, what, members, extras_);
        if (!row) return tl::unexpected(row.error());
        out.add(std::move(*row));
      }
    }
    return {};
  }

 private:
  std::vector<std::size_t> agents_{100};
  Extras extras_;
};

}  // namespace

std::unique_ptr<Benchmark> make_scale() { return std::make_unique<Scale>(); }

}  // namespace beeline::bench
