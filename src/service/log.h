#pragma once

// Lines in the log of a service, which is its stderr.

#include <string>
#include <string_view>

namespace beeline::service {

// Writes `ts=... level=... pid=... event=... text="..."` in one write. A line that cannot be
// written is lost.
void log_line(std::string_view level, std::string_view event, std::string_view text);

inline void log_info(std::string_view event, std::string_view text) {
  log_line("info", event, text);
}
inline void log_warn(std::string_view event, std::string_view text) {
  log_line("warn", event, text);
}

}  // namespace beeline::service
