#include "src/buffer/times.h"

#include <time.h>

#include <cstdio>
#include <ctime>

#include <fmt/format.h>

namespace beeline::buffer {
namespace {

constexpr int kFirstYear = 1970;
constexpr std::int64_t kLastMs = 253'402'300'799'999;  // the end of the year 9999

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes ".250" from the front of a text; digits beyond milliseconds do not count.
std::int64_t take_fraction_ms(std::string_view& text) {
  std::int64_t milliseconds = 0;
  std::int64_t unit = 100;
  text.remove_prefix(1);
  for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1), unit /= 10) {
    milliseconds += (text.front() - '0') * unit;
  }
  return milliseconds;
}

// "", "Z", "+02:00": the milliseconds by which the time is ahead of UTC.
std::optional<std::int64_t> zone_ms(std::string_view text) {
  if (text.empty() || text == "Z") return 0;
  constexpr std::size_t kLength = 6;
  if (text.size() != kLength || (text[0] != '+' && text[0] != '-') || text[3] != ':') {
    return std::nullopt;
  }
  for (const std::size_t i : {1U, 2U, 4U, 5U}) {
    if (!is_digit(text[i])) return std::nullopt;
  }
  const std::int64_t minutes =
      (text[1] - '0') * 600 + (text[2] - '0') * 60 + (text[4] - '0') * 10 + (text[5] - '0');
  return (text[0] == '-' ? -minutes : minutes) * 60'000;
}

}  // namespace

std::string format_time(std::int64_t unix_ms) {
  std::int64_t milliseconds = unix_ms % 1000;
  if (milliseconds < 0) milliseconds += 1000;
  const time_t seconds = (unix_ms - milliseconds) / 1000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:03}", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     milliseconds);
}

std::optional<std::int64_t> parse_time(const std::string& text) {
  std::tm parts{};
  int length = 0;
  if (std::sscanf(text.c_str(), "%4d-%2d-%2d%*1[ T]%2d:%2d:%2d%n", &parts.tm_year, &parts.tm_mon,
                  &parts.tm_mday, &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &length) != 6) {
    return std::nullopt;
  }
  const bool is_date = parts.tm_year >= kFirstYear && parts.tm_mon >= 1 && parts.tm_mon <= 12 &&
                       parts.tm_mday >= 1 && parts.tm_mday <= 31;
  const bool is_clock = parts.tm_hour >= 0 && parts.tm_hour <= 23 && parts.tm_min >= 0 &&
                        parts.tm_min <= 59 && parts.tm_sec >= 0 && parts.tm_sec <= 60;
  if (!is_date || !is_clock) return std::nullopt;
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  std::string_view rest = std::string_view(text).substr(static_cast<std::size_t>(length));
  const std::int64_t milliseconds = rest.starts_with('.') ? take_fraction_ms(rest) : 0;
  const auto ahead = zone_ms(rest);
  if (!ahead) return std::nullopt;
  // A zone may lead beyond the years of four digits, which sort as texts.
  const std::int64_t unix_ms = std::int64_t{::timegm(&parts)} * 1000 + milliseconds - *ahead;
  if (unix_ms < 0 || unix_ms > kLastMs) return std::nullopt;
  return unix_ms;
}

}  // namespace beeline::buffer
