// beeline-bench: the speed of Beeline here, next to the limit of this machine.

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/benchmarks.h"

// This follows beeline/result.h, because its enumerator kVersion would shadow the constant.
#include <beeline/version.h>

namespace beeline::bench {
namespace {

constexpr int kUsageError = 2;

constexpr auto kFooter =
    "What follows a test with --help: the options that it takes, and what it measures without.";

Result<void> run_chosen(const CLI::App& app,
                        const std::vector<std::unique_ptr<Benchmark>>& benchmarks) {
  for (const auto& benchmark : benchmarks) {
    if (!app.got_subcommand(benchmark->description().name)) continue;
    Sink out(benchmark->description(), benchmark->flags().json());
    return benchmark->run(out);
  }
  return fail(ErrorCode::kInvalid, "no test was named");
}

int run(int argc, char** argv) {
  CLI::App app("Measures Beeline next to the machine's own limit", "beeline-bench");
  app.require_subcommand(1);
  app.set_version_flag("--version", fmt::format("beeline-bench {}", kVersion));
  const auto benchmarks = all_benchmarks();
  for (const auto& benchmark : benchmarks) {
    const Description& about = benchmark->description();
    benchmark->add_flags(*app.add_subcommand(about.name, about.help));
  }
  app.footer(kFooter);  // later sub-commands would inherit it
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsageError;
  }
  const auto done = run_chosen(app, benchmarks);
  if (done) return 0;
  std::fputs(fmt::format("beeline-bench: {}\n", done.error().text).c_str(), stderr);
  return done.error().code == ErrorCode::kInvalid ? kUsageError : 1;
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
