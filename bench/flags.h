#pragma once
// The flags that sub-commands share, and the rows that they ask for.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/case.h"

namespace beeline::bench {

// One or several lines below the options of a sub-command.
void add_footer(CLI::App& command, const std::string& text);

class Flags {
 public:
  // Each adds flags to a sub-command; `this` must live as long as it.

  // --json.
  Flags& add_json(CLI::App& command);
  // --seconds, by default `seconds`.
  Flags& add_seconds(CLI::App& command, double seconds);
  // --pin, --seconds (by default `seconds`), --json.
  Flags& add_run(CLI::App& command, double seconds);
  // --attempts, for a test with a limit before and after each row.
  Flags& add_attempts(CLI::App& command);
  // --mode. `modes`: the default.
  Flags& add_modes(CLI::App& command, std::vector<WaitMode> modes);
  // --size. `sizes`: the default; empty: the test describes it.
  Flags& add_sizes(CLI::App& command, std::vector<std::uint64_t> sizes);
  // --untouched.
  Flags& add_carry(CLI::App& command);
  // --batch: 1 by default.
  Flags& add_batches(CLI::App& command);
  Flags& add_rate(CLI::App& command);
  Flags& add_hist(CLI::App& command);

  [[nodiscard]] bool json() const { return json_; }
  // File for a histogram of row `row` (from 1) of `rows`; empty: none. The last argument goes into
  // its name.
  [[nodiscard]] std::string hist_of(std::size_t row, std::size_t rows, std::string_view what) const;
  [[nodiscard]] double rate() const { return rate_; }
  [[nodiscard]] double seconds() const { return seconds_; }
  [[nodiscard]] Cpus cpus() const;

  // A case for each batch of each size, with the measuring time; lane, loan or untouched.
  [[nodiscard]] std::vector<Case> sized() const { return sized(sizes_); }
  [[nodiscard]] std::vector<Case> sized(const std::vector<std::uint64_t>& sizes) const;
  // True if --size was given.
  [[nodiscard]] bool has_sizes() const { return has_sizes_ != nullptr && has_sizes_->count() > 0; }
  // True if --mode was given.
  [[nodiscard]] bool has_modes() const { return has_modes_ != nullptr && has_modes_->count() > 0; }
  // Each of the rows in each mode, with attempts and CPUs. On one CPU nobody can spin, so every
  // mode becomes sleep.
  [[nodiscard]] std::vector<Case> cases(const std::vector<Case>& rows) const {
    return cases(rows, modes_);
  }
  [[nodiscard]] std::vector<Case> cases(const std::vector<Case>& rows,
                                        std::vector<WaitMode> modes) const;

 private:
  std::vector<std::uint64_t> sizes_;
  std::vector<WaitMode> modes_;
  std::vector<std::size_t> batches_{1};
  CLI::Option* has_sizes_ = nullptr;  // owned by the sub-command
  CLI::Option* has_modes_ = nullptr;
  std::vector<int> pin_;
  double seconds_ = 0.0;
  int most_attempts_ = kMostAttempts;
  double rate_ = 0.0;
  bool untouched_ = false;
  bool json_ = false;
  std::string hist_;
};

}  // namespace beeline::bench
