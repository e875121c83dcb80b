#pragma once

// Times as the table has them: UTC, "2026-01-31 12:00:00.250". SQLite's own functions of time read
// them, and texts of this form have the order of their times.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace beeline::buffer {

inline constexpr std::int64_t kDayMs = 24LL * 3600 * 1000;

[[nodiscard]] std::string format_time(std::int64_t unix_ms);
// Reads other forms of ISO 8601 as well: CURRENT_TIMESTAMP has no milliseconds, and a job may name
// a time zone.
[[nodiscard]] std::optional<std::int64_t> parse_time(const std::string& text);

}  // namespace beeline::buffer
