#include "bench/sink.h"

#include <cstdio>

#include <fmt/format.h>

#include "bench/benchmark.h"

namespace beeline::bench {
namespace {

void print(std::FILE* file, const std::string& line) {
  std::fputs((line + "\n").c_str(), file);
  std::fflush(file);
}

std::string where_text(const Cpus& cpus) {
  if (cpus.shared()) {
    return fmt::format("processes on one CPU, {}: nobody spins, the limit is a futex", cpus.ping);
  }
  std::string text = fmt::format("processes pinned: the first to CPU {}, the second to CPU {}",
                                 cpus.ping, cpus.pong);
  return text + (cpus.more.empty()
                     ? fmt::format(", further ones to CPU {}", cpus.pong)
                     : fmt::format(", further ones to CPU {} and on", cpus.more.front()));
}

}  // namespace

void Sink::open(const Cpus& cpus) const { open(where_text(cpus)); }

void Sink::open(const std::string& where) const {
  if (json_) return print(stderr, where);
  print(stdout, fmt::format("{}\n\n{}\n", where, about_.about));
  print(stdout, head_line(about_.columns));
}

void Sink::add(Row row) const {
  if (!json_) return print(stdout, row_line(about_.columns, row));
  Row named{{"test", about_.name}};
  named.update(row);
  if (const std::string note = note_of(row); !note.empty()) named["note"] = note;
  print(stdout, named.dump());
}

void Sink::remark(const std::string& text) const { print(stderr, text); }

}  // namespace beeline::bench
