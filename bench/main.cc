// beeline-bench: the speed of Beeline here, next to the limit of this machine.

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/benchmarks.h"
#ifdef BEELINE_HAS_STEWARD
#include "bench/spawn_child.h"
#endif

// This follows beeline/result.h, because its enumerator kVersion would shadow the constant.
#include <beeline/version.h>

namespace beeline::bench {
namespace {

constexpr int kUsageError = 2;

constexpr auto kFooter =
    "What follows a test with --help: the options that it takes, and what it measures without.";

// The table of a test without its rows, for bench/report.py.
Row table_json(const Description& about) {
  Row columns = Row::array();
  for (const Column& column : about.columns) {
    columns.push_back({{"title", column.title},
                       {"value", column.value},
                       {"width", column.width},
                       {"scale", column.scale},
                       {"digits", column.digits},
                       {"is_size", column.is_size},
                       {"is_left", column.is_left}});
  }
  return {{"table", about.name}, {"about", about.about}, {"columns", columns}};
}

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
  const auto print_tables = [&] {
    for (const auto& benchmark : benchmarks) {
      std::puts(table_json(benchmark->description()).dump().c_str());
    }
    throw CLI::Success();
  };
  app.add_flag_callback("--tables", print_tables,
                        "The columns of all tables as lines of JSON, for bench/report.py");
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
#ifdef BEELINE_HAS_STEWARD
    if (beeline::bench::is_child(argc, argv)) return beeline::bench::play_child(argc, argv);
#endif
    return beeline::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fputs((std::string("beeline-bench: ") + error.what() + "\n").c_str(), stderr);
    return 1;
  }
}
