#pragma once
// A sub-command of beeline-bench: its measurement, the fields of its rows, and their columns.

#include <memory>
#include <string>
#include <vector>

#include <beeline/result.h>
#include <CLI/CLI.hpp>

#include "bench/flags.h"
#include "bench/sink.h"
#include "bench/table.h"

namespace beeline::bench {

struct Description {
  std::string name;  // of the sub-command, and `test` of its rows
  std::string help;
  std::string about;  // above its table
  std::vector<Column> columns{};
};

class Benchmark {
 public:
  virtual ~Benchmark() = default;
  Benchmark(const Benchmark&) = delete;
  Benchmark& operator=(const Benchmark&) = delete;

  [[nodiscard]] const Description& description() const { return description_; }
  [[nodiscard]] const Flags& flags() const { return flags_; }

  virtual void add_flags(CLI::App& command) = 0;
  // Measures, and hands out each row at once.
  [[nodiscard]] virtual Result<void> run(Sink& out) = 0;

 protected:
  explicit Benchmark(Description description) : description_(std::move(description)) {}

  Flags flags_;

 private:
  Description description_;
};

}  // namespace beeline::bench
