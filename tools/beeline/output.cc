#include "tools/beeline/output.h"

#include <langinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "src/agent/send_facts.h"
#include "src/look/escape.h"
#include "tools/beeline/base64.h"

namespace beeline::cli {
namespace {

// Returns the error number, 0 for none.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

const char* program_name = "beeline";

// Whether failures are printed as JSON.
bool is_json = false;

// Prints a failure as text or, with its `word`, as JSON.
ExitCode tell(ExitCode code, std::string_view word, std::string_view text) {
  if (is_json) {
    const Json told = {{"code", word}, {"text", text}, {"exit_code", static_cast<int>(code)}};
    (void)write_all(STDERR_FILENO, json_line(told));
  } else {
    remark(text);
  }
  return code;
}

// The first error of stdout that was not reported yet.
int output_errno = 0;

bool is_utf8(const std::string& text) {
  try {
    (void)nlohmann::json(text).dump();
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

}  // namespace

std::string json_line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

bool print(std::string_view text) {
  const int error = write_all(STDOUT_FILENO, text);
  if (output_errno == 0) output_errno = error;
  return error == 0;
}

std::string take_output_failure() {
  const int error = std::exchange(output_errno, 0);
  if (error == 0) return "";
  if (error == EPIPE) return "nobody reads our stdout";
  return fmt::format("cannot write to our stdout: {}", std::generic_category().message(error));
}

ExitCode finish_output(ExitCode exit) {
  const std::string failure = take_output_failure();
  if (failure.empty()) return exit;
  const ExitCode code = exit == ExitCode::kOk ? ExitCode::kError : exit;
  return tell(code, "error", failure);
}

bool print_json(const Json& value) { return print(json_line(value)); }

void speak_as(const char* program) { program_name = program; }

void remark(std::string_view text) {
  (void)write_all(STDERR_FILENO, is_json ? json_line({{"remark", text}})
                                         : fmt::format("{}: {}\n", program_name, text));
}

void complain_in_json() { is_json = true; }

ExitCode complain(ExitCode code, std::string_view text) {
  return tell(code, kExitMeanings.at(static_cast<std::size_t>(code)).word, text);
}

ExitCode complain(ExitCode code, std::string_view word, std::string_view text) {
  return tell(code, word, text);
}

ExitCode complain(const Error& error) {
  return tell(exit_code(error.code), to_string(error.code), error.text);
}

std::string not_sent(const SendResult& result, std::string_view to) {
  return fmt::format("not sent to \"{}\": {}", to, SendFacts::why(result));
}

ExitCode complain(const SendResult& result, std::string_view to, std::string_view where) {
  return tell(exit_code(result.status), to_string(result.status),
              fmt::format("{}{}", where, not_sent(result, to)));
}

Table::Table(std::vector<std::string> headings) {
  for (std::string& heading : headings) {
    numbers_.push_back(heading.starts_with('>'));
    if (numbers_.back()) heading.erase(0, 1);
  }
  rows_.push_back(std::move(headings));
}

void Table::add(std::vector<std::string> cells) {
  cells.resize(numbers_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text(std::string_view indent) const {
  std::vector<std::size_t> widths(numbers_.size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line(indent);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - width(row[i]), ' ');
      if (i != 0) line.append("  ");
      line.append(numbers_[i] ? blanks : row[i]).append(numbers_[i] ? row[i] : blanks);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += (&row == &rows_.front() ? styled(Style::kDim, line) : line) + '\n';
  }
  return text;
}

std::size_t width(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

bool takes_escapes() {
  static const bool plain = [] {
    const char* const terminal = ::secure_getenv("TERM");
    return ::isatty(STDOUT_FILENO) == 0 || ::secure_getenv("NO_COLOR") != nullptr ||
           (terminal != nullptr && std::string_view(terminal) == "dumb");
  }();
  return !plain;
}

std::string styled(Style style, std::string_view text) {
  if (!takes_escapes() || text.empty()) return std::string(text);
  int code = 1;
  switch (style) {
    case Style::kBold:
      code = 1;
      break;
    case Style::kDim:
      code = 2;
      break;
    case Style::kGood:
      code = 32;
      break;
    case Style::kBad:
      code = 31;
      break;
  }
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

bool is_utf8_locale() { return std::string_view(::nl_langinfo(CODESET)) == "UTF-8"; }

std::string readable(std::string_view text) {
  std::string safe;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    safe += look::escape(text.substr(0, end)) + '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return safe;
}

std::string grouped(std::uint64_t number) {
  const std::string digits = fmt::format("{}", number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) text.push_back(',');
    text.push_back(digits[i]);
  }
  return text;
}

void set_text(Json& object, const std::string& key, std::string_view bytes) {
  std::string text(bytes);
  if (is_utf8(text)) {
    object[key] = std::move(text);
  } else {
    object[key + "_base64"] = to_base64(bytes);
  }
}

void set_body(Json& object, std::string_view body) { set_text(object, "body", body); }

}  // namespace beeline::cli
