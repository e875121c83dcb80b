#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <beeline/spool.h>

namespace beeline::spool {

// Steps through a JSON text from left to right, without a tree and without recursion. A step that
// fails keeps the reason; the caller takes no further step then. A general parser that decodes
// byte by byte costs four times as much, and a claim reads its file before it does anything else.
class JsonScanner {
 public:
  explicit JsonScanner(std::string_view json);

  // The first byte of the next token, which stays; 0 at the end.
  [[nodiscard]] char peek();
  // Takes the byte if it is the next token.
  [[nodiscard]] bool take(char byte);
  // A string without its escapes. It lives until the next step.
  [[nodiscard]] std::optional<std::string_view> text();
  // A string and the colon behind it. It lives until the next step.
  [[nodiscard]] std::optional<std::string_view> key();
  // A number as it is written.
  [[nodiscard]] std::optional<std::string_view> number();
  [[nodiscard]] bool literal(std::string_view word);
  // Appends any value to `out`, without blanks.
  [[nodiscard]] bool value(std::string& out);
  // An object or an array: calls `each` at the begin of each part.
  template <typename Each>
  [[nodiscard]] bool parts(char bracket, Each each) {
    if (!open(bracket)) return false;
    if (peek() == closer()) return close();
    do {
      if (!each()) return false;
    } while (take(','));
    return close();
  }
  [[nodiscard]] bool end();

  // The type of the next value in words; empty if none begins here.
  [[nodiscard]] std::string_view kind();
  // Says that the next value, or a number that was just taken, has the wrong type.
  bool refuse_type(std::string_view name, std::string_view found, std::string_view wanted);
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  [[nodiscard]] std::string_view rest() const { return json_.substr(at_); }
  [[nodiscard]] char closer() const { return closers_[depth_ - 1]; }
  bool fail(std::string_view why);
  std::nullopt_t nothing(std::string_view why);
  [[nodiscard]] bool open(char bracket);
  [[nodiscard]] bool close();
  [[nodiscard]] bool digits();
  [[nodiscard]] bool escape();
  [[nodiscard]] bool code_point();
  [[nodiscard]] bool begin_value(std::string& out);
  [[nodiscard]] bool append_key(std::string& out);

  std::string_view json_;
  std::size_t at_ = 0;
  std::size_t token_ = 0;  // the begin of the last token that peek() saw
  std::size_t depth_ = 0;
  std::array<char, kMostDepth> closers_{};  // of the open objects and arrays
  std::string decoded_{};                   // of the last string, if it has escapes
  std::string problem_{};
};

}  // namespace beeline::spool
