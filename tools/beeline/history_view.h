#pragma once

// Rows of histories as people and programs read them.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/types.h>

#include "tools/beeline/chronicle.h"
#include "tools/beeline/output.h"

namespace beeline::cli {

// The names of agents, those that have ended too.
class HistoryNames {
 public:
  void add(Pid pid, const std::string& name) { names_.insert_or_assign(pid, name); }
  [[nodiscard]] std::string of(Pid pid) const;
  // Whether this agent is the one that a text means: its pid, its name, or its name up to '@'.
  [[nodiscard]] bool means(std::string_view text, Pid pid) const;

 private:
  std::map<Pid, std::string> names_;
};

// Picks the rows that a user wants to see. An empty field takes all. A gap has the time of the row
// behind it and no other property, so it passes if that is late enough.
struct HistoryFilter {
  std::string from;
  std::string to;
  std::string type;
  std::optional<std::int32_t> rank;
  std::optional<std::int64_t> since_ns;  // by the clock of rows

  [[nodiscard]] bool takes(const HistoryLine& line, const HistoryNames& names) const;
};

[[nodiscard]] Json history_json(const HistoryLine& line, const HistoryNames& names);
// One line; `depth` indents the part behind time and event.
[[nodiscard]] std::string history_text(const HistoryLine& line, const HistoryNames& names,
                                       std::size_t depth = 0);

// A row of a trace. Its depth: from how many messages of the trace, one after the other, it came.
struct TraceLine {
  HistoryLine line;
  std::size_t depth = 0;
};

// The rows of one message, of the messages that led to it, and of all that came of it, the cause
// before the effect. `root`: the id of the message, or `trace`: the 32 digits of a trace.
[[nodiscard]] std::vector<TraceLine> trace_of(const std::vector<HistoryLine>& lines, MessageId root,
                                              const std::string& trace);

// The 32 hexadecimal digits of the trace of a row; empty if it has none.
[[nodiscard]] std::string trace_digits(const shm::HistoryRow& row);

}  // namespace beeline::cli
