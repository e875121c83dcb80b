#include "bench/spawn.h"

#include <cstddef>
#include <cstdint>
#include <memory>

#include "bench/histogram.h"
#include "bench/nest.h"

namespace beeline::bench {
namespace {

// A spawn may take this much longer than posix_spawn() and the attach.
constexpr double kLimitMs = 3.0;

double ms_at(const Histogram& times, double percent) {
  return rounded(static_cast<double>(times.percentile(percent)) / 1e6);
}

// Times both ways in turn, and changes the order each time.
Result<Row> time_in_turn(Nest& nest, std::size_t children, std::size_t runs) {
  // The first ones of each way find cold caches.
  if (auto warm = nest.spawn(children); !warm) return tl::unexpected(warm.error());
  if (auto warm = nest.spawn_raw(children); !warm) return tl::unexpected(warm.error());
  const auto steward = std::make_unique<Histogram>();
  const auto raw = std::make_unique<Histogram>();
  for (std::size_t step = 0; step < 2 * runs; ++step) {
    const bool is_raw = (step % 4 == 1) || (step % 4 == 2);
    const auto elapsed = is_raw ? nest.spawn_raw(children) : nest.spawn(children);
    if (!elapsed) return tl::unexpected(elapsed.error());
    (is_raw ? *raw : *steward).record(*elapsed);
  }
  Row row{{"children", children}, {"runs", runs}};
  row["ms"] = {{"p50", ms_at(*steward, 50.0)}, {"p90", ms_at(*steward, 90.0)}};
  row["raw_ms"] = {{"p50", ms_at(*raw, 50.0)}, {"p90", ms_at(*raw, 90.0)}};
  row["more_ms"] = rounded(ms_at(*steward, 50.0) - ms_at(*raw, 50.0));
  row["ratio"] = rounded(ms_at(*steward, 50.0) / ms_at(*raw, 50.0));
  return row;
}

class Spawn final : public Benchmark {
 public:
  Spawn()
      : Benchmark({.name = "spawn",
                   .help = "Children that the steward starts, beside posix_spawn of the same "
                           "program",
                   .about = "from the spawn of one child, or of several at once, until all have "
                            "attached, ms; raw: posix_spawn of the same program until it has said "
                            "through a pipe that it has attached, in turn in the same run; more: "
                            "the difference of both p50",
                   .columns = {{"children", "/children", 8},
                               {"runs", "/runs", 5},
                               {"p50", "/ms/p50", 9, 1.0, 2},
                               {"p90", "/ms/p90", 9, 1.0, 2},
                               {"raw p50", "/raw_ms/p50", 9, 1.0, 2},
                               {"raw p90", "/raw_ms/p90", 9, 1.0, 2},
                               {"more", "/more_ms", 8, 1.0, 2},
                               {"at most", "/limit_ms", 8, 1.0, 2},
                               {"ratio", "/ratio", 6, 1.0, 2}}}) {}

  void add_flags(CLI::App& command) override {
    flags_.add_json(command);
    command.add_option("--runs", runs_, "How often one child is started in each way")
        ->capture_default_str()
        ->check(CLI::Range(std::size_t{1}, std::size_t{10'000}));
    command.add_option("--children", children_, "How many are then started at once; 0: none")
        ->capture_default_str()
        ->check(CLI::Range(std::size_t{0}, std::size_t{1'000}));
    command.add_option("--rounds", rounds_, "How often so many are started at once in each way")
        ->capture_default_str()
        ->check(CLI::Range(std::size_t{1}, std::size_t{1'000}));
  }

  Result<void> run(Sink& out) override {
    auto nest = Nest::start();
    if (!nest) return tl::unexpected(nest.error());
    out.open("a hive of its own; no process is pinned");
    auto one = time_in_turn(*nest, 1, runs_);
    if (!one) return tl::unexpected(one.error());
    (*one)["limit_ms"] = kLimitMs;
    out.add(std::move(*one));
    if (children_ > 0) {
      auto many = time_in_turn(*nest, children_, rounds_);
      if (!many) return tl::unexpected(many.error());
      out.add(std::move(*many));
    }
    return nest->close();
  }

 private:
  std::size_t runs_ = 200;
  std::size_t children_ = 200;
  std::size_t rounds_ = 3;
};

}  // namespace

std::unique_ptr<Benchmark> make_spawn() { return std::make_unique<Spawn>(); }

}  // namespace beeline::bench
