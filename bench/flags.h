#pragma once
// The flags that sub-commands have in common, and the rows that they ask for.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/case.h"

namespace beeline::bench {

class Flags {
 public:
  // Each adds flags to a sub-command; `this` must live as long as it.

  /// --pin, --seconds, --attempts, --json.
  Flags& add_run(CLI::App& command);
  Flags& add_modes(CLI::App& command);
  /// --size.
  Flags& add_sizes(CLI::App& command);
  /// --untouched.
  Flags& add_carry(CLI::App& command);
  Flags& add_rate(CLI::App& command);
  Flags& add_hist(CLI::App& command);

  [[nodiscard]] bool json() const { return json_; }
  /// File for a histogram of row `row` (from 1) of so many; empty: none. `what` goes into its name.
  [[nodiscard]] std::string hist_of(std::size_t row, std::size_t rows, std::string_view what) const;
  [[nodiscard]] double rate() const { return rate_; }
  [[nodiscard]] double seconds_or(double other) const { return seconds_ > 0.0 ? seconds_ : other; }
  [[nodiscard]] Cpus cpus() const;

  /// A case for each size: those of --size, else `sizes`; lane, loan or untouched.
  [[nodiscard]] std::vector<Case> sized(const std::vector<std::uint64_t>& sizes) const;
  /// True where --size says what to measure.
  [[nodiscard]] bool has_sizes() const { return !sizes_.empty(); }
  /// Each of the rows in each mode: those of --mode, else `modes`; with attempts and CPUs. On one
  /// CPU nobody can spin: every mode becomes sleep.
  [[nodiscard]] std::vector<Case> cases(const std::vector<Case>& rows,
                                        std::vector<WaitMode> modes) const;

 private:
  std::vector<std::uint64_t> sizes_;
  std::vector<WaitMode> modes_;
  std::vector<int> pin_;
  double seconds_ = 0.0;
  int most_attempts_ = kMostAttempts;
  double rate_ = 0.0;
  bool untouched_ = false;
  bool json_ = false;
  std::string hist_;
};

}  // namespace beeline::bench
