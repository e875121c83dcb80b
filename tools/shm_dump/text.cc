#include "tools/shm_dump/text.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

#include <fmt/format.h>

namespace beeline::dump {
namespace {

constexpr std::size_t kColumns = 100;

/// The columns that a terminal needs for `text`: one for each sequence of UTF-8.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string cell(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (!value.is_string()) return value.dump();
  const auto& text = value.get_ref<const std::string&>();
  return text.empty() ? "-" : text;
}

/// The text of a payload stands in quotes, so that its end can be seen.
std::string cell(const std::string& key, const Json& value) {
  if (key != "preview" || !value.is_string() || value.empty()) return cell(value);
  const auto& text = value.get_ref<const std::string&>();
  return text.empty() ? "-" : '"' + text + '"';
}

bool is_single(const Json& value) { return !value.is_object() && !value.is_array(); }

/// The single values of an object, as many on a line as fit.
void add_pairs(std::string& out, const Json& object, const std::string& indent) {
  std::string line;
  for (const auto& [key, value] : object.items()) {
    if (!is_single(value)) continue;
    const std::string pair = fmt::format("{} {}", key, cell(key, value));
    if (!line.empty() && indent.size() + width_of(line) + width_of(pair) + 3 > kColumns) {
      fmt::format_to(std::back_inserter(out), "{}{}\n", indent, line);
      line.clear();
    }
    if (!line.empty()) line += "   ";
    line += pair;
  }
  if (!line.empty()) fmt::format_to(std::back_inserter(out), "{}{}\n", indent, line);
}

bool says_something(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  return !value.is_null() && !(value.is_string() && value.get_ref<const std::string&>().empty());
}

void pad(std::string& out, const std::string& text, std::size_t width, bool right) {
  const std::size_t used = width_of(text);
  const std::string space(width > used ? width - used : 0, ' ');
  out += right ? space + text : text + space;
}

void add_table(std::string& out, const Json& rows, const std::string& indent) {
  struct Column {
    std::string key;
    std::size_t width;
    bool right;
  };
  std::vector<Column> columns;
  for (const auto& [key, first] : rows.front().items()) {
    const bool wanted = std::any_of(rows.begin(), rows.end(), [&, name = key](const Json& row) {
      return says_something(row.at(name));
    });
    if (!wanted) continue;
    Column column{key, width_of(key), false};
    for (const Json& row : rows) {
      column.width = std::max(column.width, width_of(cell(key, row.at(key))));
      column.right = column.right || row.at(key).is_number();
    }
    columns.push_back(column);
  }
  const auto add_line = [&](const Json* row) {
    std::string line = indent;
    for (const Column& column : columns) {
      pad(line, row == nullptr ? column.key : cell(column.key, row->at(column.key)), column.width,
          column.right);
      line += "  ";
    }
    line.resize(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  };
  add_line(nullptr);
  for (const Json& row : rows) add_line(&row);
}

void add_list(std::string& out, const std::string& key, const Json& list) {
  if (list.empty()) {
    fmt::format_to(std::back_inserter(out), "  {}: none\n", key);
    return;
  }
  fmt::format_to(std::back_inserter(out), "  {}:\n", key);
  if (list.front().is_object()) {
    add_table(out, list, "    ");
    return;
  }
  for (const Json& line : list) {
    fmt::format_to(std::back_inserter(out), "    {}\n", cell(line));
  }
}

}  // namespace

std::string text_of(const Json& segment) {
  std::string out = fmt::format("{}  [{}{}]\n", cell(segment.at("name")),
                                cell(segment.at("source")), segment.at("live") ? ", live" : "");
  for (const auto& [key, value] : segment.items()) {
    if (is_single(value)) continue;
    if (value.is_array()) {
      add_list(out, key, value);
    } else if (key == "verify") {
      if (value.at("ok")) continue;
      fmt::format_to(std::back_inserter(out),
                     "  BROKEN {} at offset {}: found {}, limit {}; see shm-dump --verify\n",
                     cell(value.at("invariant")), cell(value.at("where")), cell(value.at("found")),
                     cell(value.at("limit")));
    } else {
      fmt::format_to(std::back_inserter(out), "  {}:\n", key);
      add_pairs(out, value, "    ");
    }
  }
  return out;
}

}  // namespace beeline::dump
