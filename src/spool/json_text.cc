#include "src/spool/json_text.h"

#include <array>
#include <charconv>

#include "src/spool/utf8.h"

namespace beeline::spool {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

// Characters that stand in a JSON string as they are.
constexpr std::array<bool, 256> make_plain() {
  std::array<bool, 256> plain{};
  for (std::size_t byte = 0x20; byte < 0x80; ++byte) plain[byte] = byte != '"' && byte != '\\';
  return plain;
}
constexpr std::array<bool, 256> kPlain = make_plain();

void append_escaped(std::string& out, char byte) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (byte) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  const auto value = static_cast<unsigned char>(byte);
  out += "\\u00";
  out += kHex[value >> 4U];
  out += kHex[value & 0xfU];
}

void new_line(std::string& out, int depth) {
  out += '\n';
  out.append(static_cast<std::size_t>(depth) * 2, ' ');
}

}  // namespace

std::size_t plain_length(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && kPlain[static_cast<unsigned char>(text[length])]) ++length;
  return length;
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::size_t plain = plain_length(text);
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    const std::size_t length = utf8_length(text);
    if (length > 1) {
      out.append(text.substr(0, length));
    } else if (length == 1) {
      append_escaped(out, text.front());
    } else {
      out.append(kReplacement);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

void append_indented(std::string& out, std::string_view json, int depth) {
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char byte = json[i];
    if (byte == '"') {
      const std::size_t begin = i++;
      while (i < json.size() && json[i] != '"') i += json[i] == '\\' ? 2 : 1;
      out.append(json.substr(begin, i - begin + 1));
    } else if (byte == '{' || byte == '[') {
      out += byte;
      const bool is_empty = i + 1 < json.size() && (json[i + 1] == '}' || json[i + 1] == ']');
      if (is_empty) {
        out += json[++i];
      } else {
        new_line(out, ++depth);
      }
    } else if (byte == '}' || byte == ']') {
      new_line(out, --depth);
      out += byte;
    } else if (byte == ',') {
      out += byte;
      new_line(out, depth);
    } else if (byte == ':') {
      out += ": ";
    } else if (byte != ' ' && byte != '\n' && byte != '\r' && byte != '\t') {
      out += byte;
    }
  }
}

void ObjectWriter::line(int depth) { new_line(out_, depth); }

void ObjectWriter::key(std::string_view key) {
  if (!is_first_) out_ += ',';
  is_first_ = false;
  line(depth_ + 1);
  append_json_string(out_, key);
  out_ += ": ";
}

void ObjectWriter::text(std::string_view name, std::string_view value) {
  key(name);
  append_json_string(out_, value);
}

void ObjectWriter::number(std::string_view name, std::int64_t value) {
  key(name);
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out_.append(digits.data(), end);
}

void ObjectWriter::raw(std::string_view name, std::string_view json) {
  key(name);
  append_indented(out_, json, depth_ + 1);
}

void ObjectWriter::end() {
  if (!is_first_) line(depth_);
  out_ += '}';
}

}  // namespace beeline::spool
