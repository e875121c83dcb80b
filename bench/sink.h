#pragma once
// Where rows go: to people a table, to programs one JSON object a line. Each is printed when it is
// there.

#include <string>

#include "bench/case.h"
#include "bench/table.h"

namespace beeline::bench {

struct Description;

class Sink {
 public:
  Sink(const Description& about, bool json) : about_(about), json_(json) {}

  /// Says who runs where; for programs each row says it.
  void open(const Cpus& cpus) const;
  void open(const std::string& where) const;
  /// REQUIRES: open() was called.
  void add(Row row) const;
  /// For people, on stderr: something else to know.
  void remark(const std::string& text) const;

 private:
  const Description& about_;
  bool json_;
};

}  // namespace beeline::bench
