#include "src/control/names.h"

#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "src/control/code_points.h"
#include "src/control/name_search.h"
#include "src/control/quotes.h"

namespace beeline::control {
namespace {

constexpr std::string_view kRule =
    "a name is UTF-8 of visible characters, without '/' and without a blank at either end";

tl::unexpected<Error> wrong(std::string_view role, std::string_view text, std::size_t at,
                            std::string_view what) {
  return fail(ErrorCode::kInvalid, fmt::format("the {} has {} at byte {}, after {}: {}", role, what,
                                               at, in_quotes(text.substr(0, at)), kRule));
}

// True for a sign and digits, which would look like a pid.
bool looks_like_a_number(std::string_view name) {
  const bool has_sign = name.front() == '+' || name.front() == '-';
  return is_number(name.substr(has_sign ? 1 : 0));
}

}  // namespace

Result<void> check_utf8(std::string_view role, std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto next = first_code_point(text.substr(i));
    if (!next) {
      return wrong(
          role, text, i,
          fmt::format("byte 0x{:02x}, which is not UTF-8,", static_cast<unsigned char>(text[i])));
    }
    i += next->length;
  }
  return {};
}

Result<void> check_agent_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxNameBytes) {
    return fail(ErrorCode::kInvalid,
                fmt::format("the name has {} bytes, 1 to {} are allowed: take another one",
                            name.size(), kMaxNameBytes));
  }
  if (auto good = check_utf8("name", name); !good) return good;
  for (std::size_t i = 0; i < name.size();) {
    const CodePoint next = *first_code_point(name.substr(i));
    const bool at_end = i == 0 || i + next.length == name.size();
    if (!is_visible(next.code) || next.code == '/' || (next.code == ' ' && at_end)) {
      return wrong("name", name, i,
                   fmt::format("U+{:04X}{}", static_cast<std::uint32_t>(next.code),
                               next.code == '/' ? " '/'" : ""));
    }
    i += next.length;
  }
  if (looks_like_a_number(name)) {
    return fail(ErrorCode::kInvalid,
                fmt::format("an agent cannot be named \"{}\": a number always means the pid of an "
                            "agent; add a letter",
                            name));
  }
  if (name.starts_with(kQueuePrefix)) {
    return fail(ErrorCode::kInvalid,
                fmt::format("an agent cannot be named \"{}\": a name that begins with \"{}\" "
                            "means a named queue; leave that out",
                            name, kQueuePrefix));
  }
  return {};
}

Result<void> check_target(std::string_view target) {
  if (auto text = check_utf8("receiver", target); !text) return text;
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
