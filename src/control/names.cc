#include "src/control/names.h"

#include <cstdint>

#include <fmt/format.h>

#include "src/control/quotes.h"

namespace beeline::control {
namespace {

/// Length of the UTF-8 sequence at the start of `text`, 0 if there is none: overlong forms,
/// surrogates and numbers beyond U+10FFFF are none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if (first == 0xe0 && byte(1) < 0xa0) return 0;
  if (first == 0xed && byte(1) > 0x9f) return 0;
  if (first == 0xf0 && byte(1) < 0x90) return 0;
  if (first == 0xf4 && byte(1) > 0x8f) return 0;
  return length;
}

}  // namespace

Result<void> check_agent_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxNameBytes) {
    return fail(ErrorCode::kInvalid,
                fmt::format("the name has {} bytes, 1 to {} are allowed: take another one",
                            name.size(), kMaxNameBytes));
  }
  // What comes before it can be shown.
  const auto wrong = [name](std::size_t at, std::string_view what) {
    return fail(ErrorCode::kInvalid,
                fmt::format("the name has {} at byte {}, after {}: a name is UTF-8 without control "
                            "characters and without '/'",
                            what, at, in_quotes(name.substr(0, at))));
  };
  for (std::size_t i = 0; i < name.size();) {
    const std::size_t length = utf8_length(name.substr(i));
    const auto first = static_cast<unsigned char>(name[i]);
    if (length == 0) return wrong(i, "no UTF-8");
    // U+0080 to U+009F are control characters too.
    const bool high_control = first == 0xc2 && static_cast<unsigned char>(name[i + 1]) < 0xa0;
    if (first < 0x20 || first == 0x7f || high_control) return wrong(i, "a control character");
    if (first == '/') return wrong(i, "a '/'");
    i += length;
  }
  if (name.starts_with(kQueuePrefix)) {
    return fail(ErrorCode::kInvalid,
                fmt::format("an agent cannot be named \"{}\": what begins with \"{}\" means a "
                            "named queue; leave that out",
                            name, kQueuePrefix));
  }
  return {};
}

Result<void> check_target(std::string_view target) {
  if (!target.starts_with(kQueuePrefix)) return {};
  return fail(ErrorCode::kNoRoute,
              fmt::format("no queue \"{}\": this version has no named queues; send to an agent, "
                          "by name or pid (`beeline tree` shows who is there)",
                          target.substr(kQueuePrefix.size())));
}

Result<void> check_hive_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxHiveBytes) {
    return fail(ErrorCode::kInvalid, fmt::format("name of a hive has {} bytes, 1 to {} are allowed",
                                                 name.size(), kMaxHiveBytes));
  }
  constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  if (name.find_first_not_of(kAllowed) != std::string_view::npos || name.front() == '.') {
    return fail(
        ErrorCode::kInvalid,
        fmt::format("hive \"{}\": the name of a hive consists of A-Z a-z 0-9 . _ - and does "
                    "not start with a dot",
                    name));
  }
  return {};
}

}  // namespace beeline::control
