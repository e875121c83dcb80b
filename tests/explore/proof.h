#pragma once
// The proof: every scenario holds for the source as it is, and for every order in the source there
// is one that fails without it.

#include <string>
#include <vector>

#include "tests/explore/scenarios.h"

namespace beeline::explore {

class Proof {
 public:
  explicit Proof(Depth depth);

  // Prints the explored executions and the results. True if all is proved.
  [[nodiscard]] bool run();
  // Weakens one site and prints the results of the scenarios. True if one fails.
  [[nodiscard]] bool show(const std::string& site) const;

 private:
  [[nodiscard]] bool run_clean();
  [[nodiscard]] bool run_unreduced();
  [[nodiscard]] bool run_weakened();
  // The scenario that fails when the site is weak, -1 if none does.
  [[nodiscard]] int find_failure(std::size_t site, Result& result) const;

  Scenarios scenarios_;
  std::vector<std::vector<bool>> reached_;  // by scenario: the sites that it reached
  std::uint64_t executions_ = 0;
};

}  // namespace beeline::explore
