#include "bench/peers/peers.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/peers/peer_row.h"
#include "bench/peers/port.h"
#include "bench/peers/registry.h"
#include "tools/beeline/scratch_hive.h"

namespace beeline::bench::peers {
namespace {

constexpr auto kPeerTests = {PeerTest::kLatency, PeerTest::kWake, PeerTest::kThroughput,
                             PeerTest::kFanin, PeerTest::kFill};

constexpr auto kPeersFooter =
    "docs/peers.md tells how each of them is run. What is not installed is skipped and named;\n"
    "`scripts/setup bench` installs all but Aeron. Payloads are written and read at both ends.\n"
    "Without --size: 64, 1K, 64K and 1M for latency and wake, 64 and 1K for throughput, 64 for\n"
    "fanin, 1K, 4K and 1M for fill, where they are written and read whole.";

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const PeerEntry& peer : peer_entries()) names.emplace_back(peer.name);
  return names;
}

std::vector<std::string> all_tests() {
  std::vector<std::string> names;
  for (const PeerTest test : kPeerTests) names.emplace_back(to_string(test));
  return names;
}

// Whether a list of --only or --test contains this name; an empty list means all.
bool is_chosen(const std::vector<std::string>& list, std::string_view name) {
  return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
}

std::vector<WaitMode> modes_of(PeerTest test) {
  // Filled payloads may be large: neighbours with a server, of which none polls, would let it
  // queue more than the memory holds.
  if (test == PeerTest::kFill) return {WaitMode::kSpin};
  if (test == PeerTest::kLatency) return {WaitMode::kSpin};
  if (test == PeerTest::kWake) return {WaitMode::kSleep};
  return {WaitMode::kSpin, WaitMode::kSleep};
}

std::vector<std::uint64_t> default_sizes(PeerTest test) {
  if (test == PeerTest::kFanin) return {64};
  if (test == PeerTest::kFill) return {1024, 4096, 1 << 20};
  if (test == PeerTest::kThroughput) return {64, 1024};
  return {64, 1024, 64 << 10, 1 << 20};
}

// The peers that can be measured here, and their servers, which end with it.
class Company {
 public:
  Company(const std::vector<std::string>& only, const Sink& out) {
    for (const PeerEntry& peer : peer_entries()) {
      const bool is_ours = &peer == &peer_entries().front();
      if (!is_ours && !is_chosen(only, peer.name)) continue;
      if (peer.measure == nullptr) {
        out.add(skipped_row(
            peer, fmt::format("not built in: install {} and build again", peer.packages)));
      } else if (peer.start_server == nullptr) {
        members_.push_back(&peer);
      } else if (auto server = peer.start_server()) {
        servers_.emplace(peer.name, std::move(*server));
        members_.push_back(&peer);
      } else {
        out.add(skipped_row(peer, server.error().text));
      }
    }
  }

  // Beeline is the first.
  [[nodiscard]] const std::vector<const PeerEntry*>& members() const { return members_; }
  [[nodiscard]] std::string address_of(const PeerEntry& peer) const {
    const auto found = servers_.find(peer.name);
    return found == servers_.end() ? "" : found->second.address;
  }
  [[nodiscard]] std::string version_of(const PeerEntry& peer) const {
    const auto found = servers_.find(peer.name);
    const bool is_told = found != servers_.end() && !found->second.version.empty();
    return is_told ? peer.version() + ", " + found->second.version : peer.version();
  }

 private:
  std::vector<const PeerEntry*> members_;
  std::map<std::string_view, Server> servers_;
};

// One test in one size and mode for all peers. False: a peer failed.
bool measure_all(SharedBoard& board, const Company& company, PeerCase what, const Sink& out) {
  bool all_good = true;
  const PeerEntry& beeline = *company.members().front();
  Ours ours(what.most_attempts, [&board, &beeline, what]() -> std::optional<Figure> {
    const auto outcome = beeline.measure(board, what);
    if (!outcome) return std::nullopt;
    return figure_of(what, *outcome);
  });
  for (const PeerEntry* const peer : company.members()) {
    if (what.sleeps() ? !peer->sleeps : !peer->polls) continue;
    what.server = company.address_of(*peer);
    const auto outcome = peer->measure(board, what);
    if (!outcome) {
      const bool cannot = outcome.error().code == ErrorCode::kTooBig;
      out.add(row_without(*peer, what, cannot ? "skipped" : "failed", outcome.error().text));
      all_good = all_good && cannot;
      continue;
    }
    const Figure figure = figure_of(what, *outcome);
    if (peer == &beeline) ours.add(figure);
    out.add(measured_row(*peer, what, *outcome, ours.beside(figure), company.version_of(*peer)));
  }
  return all_good;
}

class Peers final : public Benchmark {
 public:
  Peers()
      : Benchmark({.name = "peers",
                   .help = "The neighbours next to Beeline, in one run",
                   .about =
                       "round trips of one message, ns (latency: both sides poll; wake: both "
                       "sleep), and messages one way (fanin: of three senders; min, max: of five "
                       "windows of the run; fill: each payload written and read whole, "
                       "beside a bare copy of it between two warm buffers on the sender's core); "
                       "ratio: over "
                       "Beeline's figure at the same limit; limit: p50 of the bare round trip "
                       "in the same run, ns",
                   .columns = with_rates({{"peer", "/peer", 12},
                                          {"kind", "/kind", 10},
                                          {"size", "/size", 8, 1.0, 0, true},
                                          {"mode", "/mode", 6},
                                          {"p50", "/rtt_ns/p50"},
                                          {"p99", "/rtt_ns/p99"},
                                          {"p99.9", "/rtt_ns/p999"}},
                                         {{"GB/s", "/gb_per_s", 7, 1.0, 2},
                                          {"memcpy", "/limit_gb_per_s", 7, 1.0, 2},
                                          {"limit", "/limit_rtt_ns/p50"},
                                          {"ratio", "/ratio_to_beeline", 8, 1.0, 3}},
                                         {"1000/s", "/messages_per_s", 10, 1e-3, 1})}) {}

  void add_flags(CLI::App& command) override {
    add_footer(command, kPeersFooter);
    flags_.add_run(command, 0.3).add_attempts(command).add_sizes(command, {});
    command.add_option("--only", only_, "Names of peers, with commas; Beeline is always measured")
        ->delimiter(',')
        ->check(CLI::IsMember(all_names()));
    command
        .add_option("--test", tests_,
                    "latency, wake, throughput, fanin or fill; several with commas")
        ->delimiter(',')
        ->check(CLI::IsMember(all_tests()));
  }

  Result<void> run(Sink& out) override {
    const auto rows = cases(out);
    for (const PeerCase& what : rows) {
      if (what.size >= kSmallestPayload) continue;
      return fail(ErrorCode::kInvalid,
                  fmt::format("--size {}: a payload of this test holds a number of {} bytes; give "
                              "at least that",
                              what.size, kSmallestPayload));
    }
    auto board = SharedBoard::create();
    if (!board) return tl::unexpected(board.error());
    out.open(flags_.cpus());
    // The hive and the servers end with us in any case.
    auto hive = cli::ScratchHive::start("bench");
    if (!hive) return tl::unexpected(hive.error());
    bool all_good = true;
    {
      const Company company(only_, out);
      for (const PeerCase& what : rows) {
        all_good = measure_all(*board, company, what, out) && all_good;
      }
    }
    if (auto closed = hive->close(); !closed) return closed;
    if (all_good) return {};
    return fail(ErrorCode::kSystem, "some rows failed, see above");
  }

 private:
  // The requested rows; `out` is told of those that cannot be measured here.
  [[nodiscard]] std::vector<PeerCase> cases(const Sink& out) const {
    std::vector<PeerCase> rows;
    for (const PeerTest test : kPeerTests) {
      if (!is_chosen(tests_, to_string(test))) continue;
      const std::uint32_t senders = test == PeerTest::kFanin ? kFaninSenders : 1;
      for (const WaitMode mode : modes_of(test)) {
        if (flags_.cpus().shared() && mode != WaitMode::kSleep) {
          out.remark(fmt::format("{} {}: not measured, on one CPU nobody can poll", to_string(test),
                                 bench::to_string(mode)));
          continue;
        }
        for (const Case& row : flags_.cases(flags_.sized(default_sizes(test)), {mode})) {
          PeerCase what;
          static_cast<Case&>(what) = row;
          what.test = test;
          what.senders = senders;
          what.scope = fmt::format("beeline-bench-{}-{}", ::getpid(), rows.size());
          rows.push_back(what);
        }
      }
    }
    return rows;
  }

  std::vector<std::string> only_;   // empty: all
  std::vector<std::string> tests_;  // empty: all
};

}  // namespace

std::unique_ptr<Benchmark> make_peers() { return std::make_unique<Peers>(); }

}  // namespace beeline::bench::peers
