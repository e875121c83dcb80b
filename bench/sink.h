#pragma once
// The output of rows: a table for people, one JSON object a line for programs. Each row is printed
// at once.

#include <string>

#include "bench/case.h"
#include "bench/table.h"

namespace beeline::bench {

struct Description;

class Sink {
 public:
  Sink(const Description& about, bool json) : about_(about), json_(json) {}

  // Prints the CPU of each side for people; programs find it in each row.
  void open(const Cpus& cpus) const;
  void open(const std::string& where) const;
  // REQUIRES: open() was called.
  void add(Row row) const;
  // For people, on stderr: a further fact.
  void remark(const std::string& text) const;

 private:
  const Description& about_;
  bool json_;
};

}  // namespace beeline::bench
