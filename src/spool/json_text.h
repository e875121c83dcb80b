#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace beeline::spool {

// Bytes at the start of the text that stand in a JSON string as they are, and are ASCII.
[[nodiscard]] std::size_t plain_length(std::string_view text);

// Appends a JSON string. Bytes that are no UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);

// Appends a JSON value indented by two spaces a level. `depth` is the level of the line on which it
// begins.
void append_indented(std::string& out, std::string_view json, int depth);

// Writes an object of the task folder: a key a line, indented by two spaces.
class ObjectWriter {
 public:
  ObjectWriter(std::string& out, int depth) : out_(out), depth_(depth) { out_ += '{'; }

  void text(std::string_view key, std::string_view value);
  void number(std::string_view key, std::int64_t value);
  void raw(std::string_view key, std::string_view json);
  // The caller appends the value.
  void key(std::string_view key);
  void end();

 private:
  void line(int depth);

  std::string& out_;
  int depth_;
  bool is_first_ = true;
};

}  // namespace beeline::spool
