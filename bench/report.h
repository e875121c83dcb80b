#pragma once
// Results for people, a table with the limit beside every figure, and for programs, one JSON object
// for each row. Each row is printed when it is there.

#include "bench/case.h"
#include "bench/options.h"

namespace beeline::bench {

class Report {
 public:
  Report(Test test, bool json) : test_(test), json_(json) {}

  /// Says who runs where; for programs each row says it.
  void open(const Cpus& cpus) const;
  void add(const Case& what, const Outcome& outcome) const;

 private:
  void add_json(const Case& what, const Outcome& outcome) const;

  Test test_;
  bool json_;
};

}  // namespace beeline::bench
