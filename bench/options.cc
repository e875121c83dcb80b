#include "bench/options.h"

#include <algorithm>
#include <map>

#include "bench/agents.h"

namespace beeline::bench {
namespace {

const std::map<std::string, WaitMode> kModes{
    {"spin", WaitMode::kSpin}, {"adaptive", WaitMode::kAdaptive}, {"sleep", WaitMode::kSleep}};

constexpr std::uint64_t kLargestSize = 64ULL << 20;

void add_test(CLI::App& app, Options& options, Test test, const char* name, const char* what) {
  CLI::App* const command = app.add_subcommand(name, what);
  command->callback([&options, test] { options.test = test; });
  command
      ->add_option("--mode", options.modes,
                   "How the agents wait: spin, adaptive or sleep; several with commas")
      ->delimiter(',')
      ->transform(CLI::CheckedTransformer(kModes).description(""));
  command->add_option("--pin", options.pin, "CPUs of the two processes, like 0,1")
      ->delimiter(',')
      ->expected(2);
  command->add_option("--seconds", options.seconds, "Measuring time of each row")
      ->check(CLI::Range(0.01, 3600.0));
  command->add_flag("--json", options.json, "One JSON object for each row");
  if (test == Test::kLimit) return;
  command
      ->add_option("--size", options.sizes, "Bytes of payload, like 64 or 1M; several with commas")
      ->delimiter(',')
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::uint64_t{1}, kLargestSize));
  command->add_flag("--untouched", options.untouched,
                    "Payloads are loans that neither side writes or reads");
}

Carry carry_of(std::uint64_t size, bool untouched) {
  if (untouched) return Carry::kUntouched;
  return size <= kLanePayload ? Carry::kLane : Carry::kLoan;
}

std::vector<WaitMode> modes_of(const Options& options) {
  if (!options.modes.empty()) return options.modes;
  // One size, one row.
  if (options.test == Test::kThroughput || !options.sizes.empty()) return {WaitMode::kSpin};
  return {WaitMode::kSpin, WaitMode::kSleep};
}

std::vector<Case> sizes_of(const Options& options) {
  const auto make = [](std::uint64_t size, Carry carry) {
    Case made;
    made.size = static_cast<std::size_t>(size);
    made.carry = carry;
    return made;
  };
  if (options.test == Test::kLimit) return {make(0, Carry::kUntouched)};
  std::vector<Case> rows;
  for (const std::uint64_t size : options.sizes) {
    rows.push_back(make(size, carry_of(size, options.untouched)));
  }
  if (!rows.empty()) return rows;
  std::vector<std::uint64_t> sizes{64, 1024};
  if (options.test == Test::kLatency) sizes.insert(sizes.begin(), 16);
  for (const std::uint64_t size : sizes) {
    rows.push_back(make(size, carry_of(size, options.untouched)));
  }
  if (options.test == Test::kLatency) rows.push_back(make(1 << 20, Carry::kUntouched));
  return rows;
}

}  // namespace

void add_options(CLI::App& app, Options& options) {
  app.require_subcommand(1);
  add_test(app, options, Test::kLimit, "limit",
           "What the machine can do: a word that goes to the other CPU and back");
  add_test(app, options, Test::kLatency, "latency",
           "Round trips of messages between two agents, next to the limit");
  add_test(app, options, Test::kThroughput, "throughput",
           "Messages one way in a second, next to the limit");
}

std::vector<Case> cases_of(const Options& options, const Cpus& cpus) {
  double seconds = options.test == Test::kThroughput ? 1.0 : 0.3;
  if (options.seconds > 0.0) seconds = options.seconds;
  std::vector<WaitMode> modes = modes_of(options);
  if (cpus.shared()) modes = {WaitMode::kSleep};
  std::vector<Case> rows;
  for (const WaitMode mode : modes) {
    for (Case row : sizes_of(options)) {
      row.mode = mode;
      row.seconds = seconds;
      row.cpus = cpus;
      rows.push_back(row);
    }
  }
  return rows;
}

}  // namespace beeline::bench
