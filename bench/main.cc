// beeline-bench: how fast Beeline is here, next to what this machine can do at all.

#include <algorithm>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "bench/latency.h"
#include "bench/options.h"
#include "bench/report.h"
#include "bench/throughput.h"
#include "tools/beeline/scratch_hive.h"

namespace beeline::bench {
namespace {

constexpr int kUsageError = 2;

constexpr auto kFooter =
    "The limit is measured by the two processes of each run, before and after it: a bare round\n"
    "trip of a cache line, or of a futex where the agents sleep. Where the two differ by more "
    "than\n"
    "30 % the run is done again, five times at most, and then called unstable.\n"
    "Without --size and --mode, each test measures what the README shows.";

Result<Outcome> measure(Test test, SharedBoard& board, const Case& what) {
  switch (test) {
    case Test::kLimit:
      return run_limit(board, what);
    case Test::kLatency:
      return run_latency(board, what);
    case Test::kThroughput:
      return run_throughput(board, what);
  }
  return fail(ErrorCode::kInvalid, "unknown test");
}

Result<void> run_all(const Options& options) {
  const Cpus cpus = options.pin.empty() ? default_cpus() : Cpus{options.pin[0], options.pin[1]};
  auto board = SharedBoard::create();
  if (!board) return tl::unexpected(board.error());
  // Ends with us, however we end.
  std::optional<cli::ScratchHive> hive;
  if (options.test != Test::kLimit) {
    auto started = cli::ScratchHive::start("bench");
    if (!started) return tl::unexpected(started.error());
    hive.emplace(std::move(*started));
  }
  const Report report(options.test, options.json);
  report.open(cpus);
  for (const Case& what : cases_of(options, cpus)) {
    const auto outcome = measure(options.test, *board, what);
    if (!outcome) return tl::unexpected(outcome.error());
    report.add(what, *outcome);
  }
  return hive ? hive->close() : Result<void>{};
}

int run(int argc, char** argv) {
  CLI::App app("Measures Beeline next to the machine's own limit", "beeline-bench");
  app.footer(kFooter);
  Options options;
  add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsageError;
  }
  const auto done = run_all(options);
  if (done) return 0;
  std::fputs(fmt::format("beeline-bench: {}\n", done.error().text).c_str(), stderr);
  return 1;
}

}  // namespace
}  // namespace beeline::bench

int main(int argc, char** argv) {
  try {
    return beeline::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fputs((std::string("beeline-bench: ") + error.what() + "\n").c_str(), stderr);
    return 1;
  }
}
