#include "src/spool/json_scanner.h"

#include <charconv>
#include <cstdint>

#include <fmt/format.h>

#include "src/spool/json_text.h"
#include "src/spool/utf8.h"

namespace beeline::spool {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

// The value of four hexadecimal digits at the start of the text.
std::optional<std::uint32_t> hex4(std::string_view text) {
  constexpr std::size_t kDigits = 4;
  if (text.size() < kDigits) return std::nullopt;
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + kDigits, value, 16);
  if (error != std::errc{} || end != text.data() + kDigits) return std::nullopt;
  return value;
}

}  // namespace

JsonScanner::JsonScanner(std::string_view json) : json_(json) {
  if (json.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
}

bool JsonScanner::fail(std::string_view why) {
  problem_ = fmt::format("no valid JSON at byte {}: {}", at_ + 1, why);
  return false;
}

std::nullopt_t JsonScanner::nothing(std::string_view why) {
  (void)fail(why);
  return std::nullopt;
}

bool JsonScanner::refuse_type(std::string_view name, std::string_view found,
                              std::string_view wanted) {
  if (found.empty()) return fail("a value is needed");
  problem_ = fmt::format("{} is {}, and {} is needed (byte {})", name, found, wanted, token_ + 1);
  return false;
}

char JsonScanner::peek() {
  for (; at_ < json_.size(); ++at_) {
    const char byte = json_[at_];
    if (byte != ' ' && byte != '\n' && byte != '\r' && byte != '\t') {
      token_ = at_;
      return byte;
    }
  }
  return '\0';
}

bool JsonScanner::take(char byte) {
  if (peek() != byte) return false;
  ++at_;
  return true;
}

std::string_view JsonScanner::kind() {
  const char first = peek();
  switch (first) {
    case '"':
      return "a text";
    case '{':
      return "an object";
    case '[':
      return "an array";
    case 't':
    case 'f':
      return "a boolean";
    case 'n':
      return "null";
    default:
      return first == '-' || is_digit(first) ? "a number" : "";
  }
}

std::optional<std::string_view> JsonScanner::text() {
  if (!take('"')) return nothing("a text is needed");
  bool has_escapes = false;
  std::size_t begin = at_;  // of the part that is not decoded yet
  for (;;) {
    at_ += plain_length(rest());
    if (at_ == json_.size()) return nothing("the text does not end");
    const char byte = json_[at_];
    if (byte == '"') break;
    if (byte == '\\') {
      if (!has_escapes) decoded_.clear();
      has_escapes = true;
      decoded_.append(json_, begin, at_ - begin);
      if (!escape()) return std::nullopt;
      begin = at_;
      continue;
    }
    const std::size_t length = utf8_length(rest());
    if (length == 0) return nothing("this is no UTF-8");
    if (length == 1) return nothing("a control character needs an escape");
    at_ += length;
  }
  const std::string_view last = json_.substr(begin, at_++ - begin);
  if (!has_escapes) return last;
  return decoded_.append(last);
}

bool JsonScanner::escape() {
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kBytes = "\"\\/\b\f\n\r\t";
  if (rest().starts_with("\\u")) return code_point();
  ++at_;
  const std::size_t which = at_ < json_.size() ? kLetters.find(json_[at_]) : std::string_view::npos;
  if (which == std::string_view::npos) return fail("there is no such escape");
  decoded_ += kBytes[which];
  ++at_;
  return true;
}

// An escape with the number of a character, or two with the halves of a larger number.
bool JsonScanner::code_point() {
  constexpr std::size_t kEscape = 6;
  constexpr std::uint32_t kHalf = 0xd800;
  constexpr std::uint32_t kSecondHalf = 0xdc00;
  constexpr std::uint32_t kNoHalf = 0xe000;
  const auto first = hex4(rest().substr(2));
  if (!first) return fail("four hexadecimal digits are needed");
  std::uint32_t number = *first;
  if (number >= kHalf && number < kNoHalf) {
    const std::string_view next = rest().substr(kEscape);
    const auto second = next.starts_with("\\u") ? hex4(next.substr(2)) : std::nullopt;
    const bool are_halves =
        number < kSecondHalf && second && *second >= kSecondHalf && *second < kNoHalf;
    if (!are_halves) return fail("the escape is half a character");
    number = 0x10000U + ((number - kHalf) << 10U) + (*second - kSecondHalf);
    at_ += kEscape;
  }
  at_ += kEscape;
  append_utf8(decoded_, number);
  return true;
}

std::optional<std::string_view> JsonScanner::key() {
  const auto name = text();
  if (name && !take(':')) return nothing("a colon is needed");
  return name;
}

bool JsonScanner::digits() {
  const std::size_t begin = at_;
  while (at_ < json_.size() && is_digit(json_[at_])) ++at_;
  return at_ != begin || fail("a digit is needed");
}

std::optional<std::string_view> JsonScanner::number() {
  (void)peek();
  const std::size_t begin = at_;
  const auto skip = [this](std::string_view any_of) {
    const bool is_there = at_ < json_.size() && any_of.find(json_[at_]) != std::string_view::npos;
    if (is_there) ++at_;
    return is_there;
  };
  (void)skip("-");
  // No digit follows a zero at the begin.
  if (!skip("0") && !digits()) return std::nullopt;
  if (skip(".") && !digits()) return std::nullopt;
  if (skip("eE")) {
    (void)skip("+-");
    if (!digits()) return std::nullopt;
  }
  return json_.substr(begin, at_ - begin);
}

bool JsonScanner::literal(std::string_view word) {
  (void)peek();
  if (!rest().starts_with(word)) return fail("a value is needed");
  at_ += word.size();
  return true;
}

bool JsonScanner::open(char bracket) {
  if (!take(bracket)) return fail("an object or an array is needed");
  if (depth_ == kMostDepth) {
    problem_ = fmt::format("it is nested deeper than {} levels (byte {})", kMostDepth, at_);
    return false;
  }
  closers_[depth_++] = bracket == '{' ? '}' : ']';
  return true;
}

bool JsonScanner::close() {
  if (!take(closer())) return fail(fmt::format("a comma or '{}' is needed", closer()));
  --depth_;
  return true;
}

bool JsonScanner::end() {
  (void)peek();
  return at_ == json_.size() || fail("the JSON has ended before");
}

bool JsonScanner::append_key(std::string& out) {
  const auto name = key();
  if (!name) return false;
  append_json_string(out, *name);
  out += ':';
  return true;
}

// A value without parts, or the begin of one with parts.
bool JsonScanner::begin_value(std::string& out) {
  const char first = peek();
  switch (first) {
    case '{':
    case '[':
      out += first;
      return open(first);
    case '"': {
      const auto found = text();
      if (found) append_json_string(out, *found);
      return found.has_value();
    }
    case 't':
      out += "true";
      return literal("true");
    case 'f':
      out += "false";
      return literal("false");
    case 'n':
      out += "null";
      return literal("null");
    default: {
      if (kind().empty()) return fail("a value is needed");
      const auto found = number();
      if (found) out += *found;
      return found.has_value();
    }
  }
}

bool JsonScanner::value(std::string& out) {
  const std::size_t outer = depth_;
  for (;;) {
    const std::size_t before = depth_;
    if (!begin_value(out)) return false;
    bool has_next = depth_ > before && peek() != closer();
    while (!has_next && depth_ > outer) {
      has_next = take(',');
      out += has_next ? ',' : closer();
      if (!has_next && !close()) return false;
    }
    if (!has_next) return true;
    if (closer() == '}' && !append_key(out)) return false;
  }
}

}  // namespace beeline::spool
