#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include <beeline/result.h>
#include <beeline/spool.h>

#include "bench/scratch_folder.h"
#include "bench/spool_raw.h"

namespace beeline::bench {

// Two scratch folders side by side, one of the library and one of bare system calls, with the same
// tasks. They go with this object.
class SpoolBox {
 public:
  // Below the directory `place`. Errors: kSystem.
  [[nodiscard]] static Result<SpoolBox> create(const std::string& place);

  [[nodiscard]] RawSpool& raw() { return raw_; }
  // A Spool of its own. Errors: kSystem.
  [[nodiscard]] Result<spool::Spool> open() const;

  // The task of a number, from 0. A lower number is claimed earlier.
  [[nodiscard]] static spool::Task task(std::size_t number);
  // The JSON of a file of a usual size, for the raw folder: a task, one with a claim, a result.
  [[nodiscard]] static std::string task_json(std::size_t number);
  [[nodiscard]] static std::string claim_json(std::size_t number);
  [[nodiscard]] static std::string result_json(std::size_t number);
  [[nodiscard]] static spool::Completion completion();
  // Puts the tasks of the numbers 0 to `count` - 1 into both folders. Errors: kSystem.
  [[nodiscard]] Result<void> fill(std::size_t count);

  // The steps, with the errors of the library as kSystem.
  [[nodiscard]] static Result<void> put(spool::Spool& spool, spool::Task task);
  // Nothing: no task waits.
  [[nodiscard]] static Result<std::optional<spool::Claim>> claim(spool::Spool& spool);
  [[nodiscard]] static Result<void> complete(spool::Claim& claim, spool::Completion completion);

 private:
  SpoolBox(ScratchFolder folder, RawSpool raw) : folder_(std::move(folder)), raw_(std::move(raw)) {}

  ScratchFolder folder_;
  RawSpool raw_;
};

}  // namespace beeline::bench
