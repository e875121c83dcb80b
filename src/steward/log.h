#pragma once

// Lines in the log of the hive, which is the steward's stderr.

#include <string>
#include <string_view>

namespace beeline::steward {

// Writes `ts=... level=... event=... text="..."` in one write. A line that cannot be written is
// lost.
void log_line(std::string_view level, std::string_view event, std::string_view text);

inline void log_info(std::string_view event, std::string_view text) {
  log_line("info", event, text);
}
inline void log_warn(std::string_view event, std::string_view text) {
  log_line("warn", event, text);
}

}  // namespace beeline::steward
