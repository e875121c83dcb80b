#include "bench/flags.h"

#include <filesystem>
#include <map>
#include <utility>

#include "bench/agents.h"
#include "bench/pair.h"

namespace beeline::bench {
namespace {

const std::map<std::string, WaitMode> kModes{
    {"spin", WaitMode::kSpin}, {"adaptive", WaitMode::kAdaptive}, {"sleep", WaitMode::kSleep}};

constexpr std::uint64_t kLargestSize = 64ULL << 20;

constexpr auto kLimitFooter =
    "The limit is measured by the processes of each run, before and after it: a bare round trip\n"
    "of a cache line, or of a futex or eventfd where the agents sleep. Where the two differ by\n"
    "more than 30 % the run is done again, see --attempts, and then called unstable.";

// The texts of the values of an option that takes several.
template <typename Values, typename Text>
std::string joined(const Values& values, const Text& text) {
  std::string all;
  for (const auto& value : values) {
    if (!all.empty()) all += ',';
    all += text(value);
  }
  return all;
}

}  // namespace

void add_footer(CLI::App& command, const std::string& text) {
  const std::string before = command.get_footer();
  command.footer(before.empty() ? text : before + "\n" + text);
}

Flags& Flags::add_run(CLI::App& command, double seconds) {
  command
      .add_option("--pin", pin_,
                  "CPUs of the processes, like 0,1; the last one is shared by those that remain")
      ->type_name("CPU,...")
      ->delimiter(',')
      ->expected(1, static_cast<int>(kMostMembers));
  return add_seconds(command, seconds).add_json(command);
}

Flags& Flags::add_seconds(CLI::App& command, double seconds) {
  seconds_ = seconds;
  command.add_option("--seconds", seconds_, "Measuring time of each row")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 3600.0));
  return *this;
}

Flags& Flags::add_json(CLI::App& command) {
  command.add_flag("--json", json_, "One JSON object for each row");
  return *this;
}

Flags& Flags::add_attempts(CLI::App& command) {
  add_footer(command, kLimitFooter);
  command
      .add_option("--attempts", most_attempts_,
                  "How often a row is measured at most, until its two limits agree")
      ->capture_default_str()
      ->check(CLI::Range(1, 100));
  return *this;
}

Flags& Flags::add_modes(CLI::App& command, std::vector<WaitMode> modes) {
  modes_ = std::move(modes);
  has_modes_ = command
                   .add_option("--mode", modes_,
                               "How the agents wait: spin, adaptive or sleep; several with commas")
                   ->delimiter(',')
                   ->transform(CLI::CheckedTransformer(kModes).description(""))
                   ->default_str(joined(modes_, [](WaitMode mode) { return to_string(mode); }));
  return *this;
}

Flags& Flags::add_sizes(CLI::App& command, std::vector<std::uint64_t> sizes) {
  sizes_ = std::move(sizes);
  has_sizes_ =
      command.add_option("--size", sizes_, "Bytes of payload, like 64 or 1M; several with commas")
          ->delimiter(',')
          ->transform(CLI::AsSizeValue(false))
          ->check(CLI::Range(std::uint64_t{1}, kLargestSize))
          ->default_str(joined(sizes_, [](std::uint64_t size) { return std::to_string(size); }));
  return *this;
}

Flags& Flags::add_carry(CLI::App& command) {
  command.add_flag("--untouched", untouched_,
                   "Payloads are loans that neither side writes or reads");
  return *this;
}

Flags& Flags::add_batches(CLI::App& command) {
  constexpr std::size_t kMost = 4096;
  command
      .add_option("--batch", batches_,
                  "Messages that the receiver takes for one call, at most; 1: receive(), more: "
                  "receive_batch()")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::Range(std::size_t{1}, kMost));
  return *this;
}

Flags& Flags::add_rate(CLI::App& command) {
  command
      .add_option("--rate", rate_,
                  "Round trips a second, each due at a fixed time from which it is counted, "
                  "whatever became of those before; 0: each follows the last")
      ->check(CLI::Range(0.0, 1e8));
  return *this;
}

Flags& Flags::add_hist(CLI::App& command) {
  command.add_option("--hist", hist_,
                     "File for the histogram as HdrHistogram writes percentiles, and one beside it "
                     "for that of the limit; of several rows a file each, numbered");
  return *this;
}

std::string Flags::hist_of(std::size_t row, std::size_t rows, std::string_view what) const {
  if (hist_.empty()) return "";
  const std::filesystem::path file(hist_);
  std::string name = file.stem().string();
  if (rows > 1) name += "-" + std::to_string(row);
  name += what;
  return (file.parent_path() / (name + file.extension().string())).string();
}

Cpus Flags::cpus() const {
  if (pin_.empty()) return default_cpus();
  if (pin_.size() < 3) return {pin_.front(), pin_.back()};
  Cpus cpus{pin_[0], pin_[1], {pin_.begin() + 2, pin_.end()}};
  cpus.more.resize(kMostMembers, cpus.more.back());
  return cpus;
}

std::vector<Case> Flags::sized(const std::vector<std::uint64_t>& sizes) const {
  std::vector<Case> rows;
  for (const std::uint64_t size : has_sizes() ? sizes_ : sizes) {
    Case row;
    row.seconds = seconds_;
    row.size = static_cast<std::size_t>(size);
    row.carry = size <= kLanePayload ? Carry::kLane : Carry::kLoan;
    if (untouched_) row.carry = Carry::kUntouched;
    for (const std::size_t batch : batches_) {
      row.batch = batch;
      rows.push_back(row);
    }
  }
  return rows;
}

std::vector<Case> Flags::cases(const std::vector<Case>& rows, std::vector<WaitMode> modes) const {
  const Cpus cpus = this->cpus();
  if (has_modes()) modes = modes_;
  if (cpus.shared()) modes = {WaitMode::kSleep};
  std::vector<Case> all;
  for (const WaitMode mode : modes) {
    for (Case row : rows) {
      row.mode = mode;
      row.most_attempts = most_attempts_;
      row.cpus = cpus;
      all.push_back(row);
    }
  }
  return all;
}

}  // namespace beeline::bench
