#include "bench/primitives.h"

#include <algorithm>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "bench/agent_parts.h"
#include "bench/pair.h"
#include "bench/parts.h"
#include "bench/run.h"

namespace beeline::bench {
namespace {

constexpr int kRepetitions = 5;

// Keeps the findings of Google Benchmark instead of printing them.
class Keeper final : public benchmark::BenchmarkReporter {
 public:
  explicit Keeper(std::size_t batch) : batch_(batch) {}

  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.error_occurred) error_ = run.error_message;
      if (run.run_type != Run::RT_Iteration) continue;
      const auto calls = static_cast<double>(std::max<std::size_t>(1, batch_));
      ns_.push_back((batch_ != 0 ? run.GetAdjustedRealTime() : run.GetAdjustedCPUTime()) / calls);
      iterations_ += static_cast<std::uint64_t>(run.iterations);
    }
  }

  // One row of all repetitions. Errors: kSystem (the error of the part).
  [[nodiscard]] Result<Row> row_of(const Part& part) {
    if (!error_.empty() || ns_.empty()) {
      return fail(ErrorCode::kSystem, fmt::format("{}: {}", part.what, error_));
    }
    std::sort(ns_.begin(), ns_.end());
    Row row{{"what", part.what}};
    if (part.depth != 0) row["depth"] = part.depth;
    row["ns"] = {{"min", rounded(ns_.front())},
                 {"p50", rounded(ns_[ns_.size() / 2])},
                 {"max", rounded(ns_.back())}};
    row["repetitions"] = ns_.size();
    row["iterations"] = iterations_;
    return row;
  }

 private:
  std::size_t batch_;
  std::vector<double> ns_;
  std::uint64_t iterations_ = 0;
  std::string error_;
};

Result<Row> measure(const Part& part, double seconds) {
  benchmark::ClearRegisteredBenchmarks();
  auto* const registered = benchmark::RegisterBenchmark("part", part.run)
                               ->MinTime(seconds / kRepetitions)
                               ->Repetitions(kRepetitions);
  if (part.batch != 0) registered->UseManualTime();
  Keeper keeper(part.batch);
  benchmark::RunSpecifiedBenchmarks(&keeper, "part");
  return keeper.row_of(part);
}

class Primitives final : public Benchmark {
 public:
  Primitives()
      : Benchmark({.name = "primitives",
                   .help = "What the parts of a message cost where nothing moves between CPUs",
                   .about = "CPU time of one call in one process, ns: the middle, the least and "
                            "the most of five repetitions by Google Benchmark; the first rows are "
                            "what the others are made of",
                   .columns = {{"what", "/what", 24},
                               {"depth", "/depth", 8},
                               {"p50", "/ns/p50", 10, 1.0, 1},
                               {"min", "/ns/min", 10, 1.0, 1},
                               {"max", "/ns/max", 10, 1.0, 1}}}) {}

  void add_flags(CLI::App& command) override { flags_.add_run(command, 0.5); }

  Result<void> run(Sink& out) override {
    const int cpu = flags_.cpus().ping;
    if (auto pinned = pin(cpu); !pinned) return pinned;
    out.open(fmt::format("one process, pinned to CPU {}", cpu));
    if (auto measured = add_rows(out, all_parts(), cpu); !measured) return measured;
    const auto agents = agent_parts();
    return agents ? add_rows(out, *agents, cpu) : tl::unexpected(agents.error());
  }

 private:
  Result<void> add_rows(Sink& out, const std::vector<Part>& parts, int cpu) {
    for (const Part& part : parts) {
      auto row = measure(part, flags_.seconds());
      if (!row) return tl::unexpected(row.error());
      (*row)["cpus"] = {cpu};
      out.add(std::move(*row));
    }
    return {};
  }
};

}  // namespace

std::unique_ptr<Benchmark> make_primitives() { return std::make_unique<Primitives>(); }

}  // namespace beeline::bench
