#pragma once

// Results go to stdout, diagnostics to stderr; nothing else prints.

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <beeline/message.h>
#include <beeline/result.h>
#include <beeline/types.h>

#include "tools/beeline/exit_codes.h"

namespace beeline::cli {

using Json = nlohmann::ordered_json;

// Writes to stdout at once, so that a reader of a pipe sees it. False if the write failed:
// finish_output() then reports it.
bool print(std::string_view text);
// One JSON object and the end of the line. Text that is not UTF-8 is replaced.
[[nodiscard]] std::string json_line(const Json& value);
// Prints it.
bool print_json(const Json& value);

// Why a write to stdout failed first; empty if none did. A verb that reports the failure itself
// takes the reason here; finish_output() is then silent.
[[nodiscard]] std::string take_output_failure();

// The end of every verb: reports a failed write to stdout, and turns a success into an error then.
[[nodiscard]] ExitCode finish_output(ExitCode exit);

// The name in front of each diagnostic from now on, in place of "beeline". Static storage.
void speak_as(const char* program);

// Prints "beeline: text" to stderr, for events that are no failures.
void remark(std::string_view text);

// From now on each failure is printed as a JSON object on stderr (code, text and exit_code), and
// each remark as a JSON object of another kind (remark).
void complain_in_json();

// Prints a failure the same way; returns the exit code of the error.
ExitCode complain(const Error& error);
ExitCode complain(ExitCode code, std::string_view text);
// The same for a cause that has a word of its own.
ExitCode complain(ExitCode code, std::string_view word, std::string_view text);
// Why a send to `to` failed, in the words of SendResult::text().
[[nodiscard]] std::string not_sent(const SendResult& result, std::string_view to);
// The same for a failed send; `where` comes first.
ExitCode complain(const SendResult& result, std::string_view to, std::string_view where = {});

// Rows as left-aligned columns, two blanks apart; columns of numbers are aligned to the right.
class Table {
 public:
  // A heading that starts with '>' marks a column of numbers.
  explicit Table(std::vector<std::string> headings);
  void add(std::vector<std::string> cells);
  [[nodiscard]] std::string text(std::string_view indent = "") const;

 private:
  std::vector<bool> numbers_;
  std::vector<std::vector<std::string>> rows_;
};

// Columns that a text takes. Each UTF-8 code point counts as one.
[[nodiscard]] std::size_t width(std::string_view text) noexcept;

// Emphasis for people: nothing when stdout is no terminal, $NO_COLOR is set or $TERM is
// "dumb".
enum class Style { kBold, kDim, kGood, kBad };
[[nodiscard]] bool takes_escapes();
[[nodiscard]] std::string styled(Style style, std::string_view text);

// True if the locale says that the terminal takes UTF-8.
[[nodiscard]] bool is_utf8_locale();

// Text of several lines for a terminal: keeps line ends and escapes every other character that
// moves a cursor.
[[nodiscard]] std::string readable(std::string_view text);

// 1234567 as "1,234,567".
[[nodiscard]] std::string grouped(std::uint64_t number);

// Sets the key, or KEY_base64 if the bytes are not UTF-8.
void set_text(Json& object, const std::string& key, std::string_view bytes);
// Sets "body", or "body_base64" if the bytes are not UTF-8.
void set_body(Json& object, std::string_view body);

}  // namespace beeline::cli
