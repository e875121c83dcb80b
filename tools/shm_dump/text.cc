#include "tools/shm_dump/text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <ctime>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/beeline/output.h"

namespace beeline::dump {
namespace {

constexpr std::size_t kColumns = 100;

constexpr std::string_view kTime = "_unix_ms";
constexpr std::string_view kDuration = "_ms";
constexpr std::string_view kSize = "_bytes";

// RFC 3339 in UTC, to the second.
std::string time_text(const Json& unix_ms) {
  const auto seconds = static_cast<std::time_t>(unix_ms.get<std::uint64_t>() / 1000);
  std::tm parts{};
  char text[32] = {};
  if (::gmtime_r(&seconds, &parts) == nullptr ||
      std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts) == 0) {
    return unix_ms.dump() + " ms";
  }
  return text;
}

// An age is shown in tenths of a second, any other duration whole.
std::string duration_text(const std::string& key, const Json& milliseconds) {
  const auto value = milliseconds.get<double>();
  const bool is_age = key == "age_ms";
  return is_age ? fmt::format("{:.1f} s", value / 1e3) : fmt::format("{} s", value / 1e3);
}

std::string size_text(const Json& bytes) {
  const auto value = bytes.get<std::uint64_t>();
  if (value % 1024 != 0) return fmt::format("{} bytes", cli::grouped(value));
  return fmt::format("{} KiB", cli::grouped(value / 1024));
}

std::string cell(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (!value.is_string()) return value.dump();
  const auto& text = value.get_ref<const std::string&>();
  return text.empty() ? "-" : text;
}

// A value with the unit of its key. The text of a payload is quoted, so that its end can be seen.
std::string cell(const std::string& key, const Json& value) {
  if (value.is_number()) {
    if (key.ends_with(kTime)) return time_text(value);
    if (key.ends_with(kDuration)) return duration_text(key, value);
    if (key.ends_with(kSize)) return size_text(value);
  }
  if (key != "preview" || !value.is_string() || value.empty()) return cell(value);
  const auto& text = value.get_ref<const std::string&>();
  return text.empty() ? "-" : '"' + text + '"';
}

bool is_single(const Json& value) { return !value.is_object() && !value.is_array(); }

// The single values of an object, as many on a line as fit.
void add_pairs(std::string& out, const Json& object, const std::string& indent) {
  std::string line;
  for (const auto& [key, value] : object.items()) {
    // Owner and reader are shown as name and pid together.
    if (!is_single(value) || key == "owner_pid" || key == "reader_pid") continue;
    const std::string pair = fmt::format("{} {}", heading_of(key), cell(key, value));
    if (!line.empty() && indent.size() + cli::width(line) + cli::width(pair) + 3 > kColumns) {
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

void add_table(std::string& out, const Json& rows, const std::string& indent) {
  std::vector<std::string> keys;
  std::vector<std::string> headings;
  for (const auto& [key, first] : rows.front().items()) {
    // Keep the column `taken`, if there is one: the user asked for it.
    const bool wanted =
        key == "taken" || std::any_of(rows.begin(), rows.end(), [name = key](const Json& row) {
          return says_something(row.at(name));
        });
    if (!wanted) continue;
    const bool is_number = std::any_of(rows.begin(), rows.end(), [name = key](const Json& row) {
      return row.at(name).is_number();
    });
    keys.push_back(key);
    headings.push_back((is_number ? ">" : "") + heading_of(key));
  }
  cli::Table table(std::move(headings));
  for (const Json& row : rows) {
    std::vector<std::string> cells;
    for (const std::string& key : keys) cells.push_back(cell(key, row.at(key)));
    table.add(std::move(cells));
  }
  out += table.text(indent);
}

void add_list(std::string& out, const std::string& key, const Json& list) {
  if (list.empty()) {
    fmt::format_to(std::back_inserter(out), "  {}: none\n", heading_of(key));
    return;
  }
  fmt::format_to(std::back_inserter(out), "  {}:\n", heading_of(key));
  if (list.front().is_object()) {
    add_table(out, list, "    ");
    return;
  }
  for (const Json& line : list) {
    fmt::format_to(std::back_inserter(out), "    {}\n", cell(line));
  }
}

std::string count_text(const Json& segment, const char* key) {
  if (!segment.at(key).is_null()) return cli::grouped(segment.at(key).get<std::uint64_t>());
  const bool is_unknown =
      std::string_view(key) == "live_count" && segment.at("verify").at("kind") == "link";
  return is_unknown ? "?" : "-";
}

std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", cli::grouped(count), count == 1 ? one : many);
}

// The line below the table of all.
std::string sum_text(const Json& segments) {
  std::uint64_t bytes = 0;
  std::uint64_t live = 0;
  std::uint64_t dead = 0;
  std::uint64_t unknown = 0;
  std::uint64_t broken = 0;
  for (const Json& segment : segments) {
    bytes += segment.at("in_use_bytes").get<std::uint64_t>();
    live += segment.at("live_count").is_null() ? 0 : segment.at("live_count").get<std::uint64_t>();
    dead += segment.at("dead_count").is_null() ? 0 : segment.at("dead_count").get<std::uint64_t>();
    unknown += count_text(segment, "live_count") == "?" ? 1 : 0;
    broken += segment.at("verify").at("ok") == true ? 0 : 1;
  }
  std::string text =
      fmt::format("{}, {} KiB in use, {}, {}", counted(segments.size(), "segment", "segments"),
                  cli::grouped(bytes / 1024), counted(live, "live message", "live messages"),
                  counted(dead, "dead letter", "dead letters"));
  if (unknown != 0) {
    text += fmt::format("; {}: unknown how many were taken", counted(unknown, "link", "links"));
  }
  if (broken == 0) return text + "; all ok\n";
  return text + "; " +
         cli::styled(cli::Style::kBad,
                     fmt::format("{} BROKEN: see shm-dump --verify", cli::grouped(broken))) +
         '\n';
}

}  // namespace

std::string heading_of(const std::string& key) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kOwnWords = {
      {{"preview", "body"},
       {"live_count", "live"},
       {"dead_count", "dead"},
       {"in_use_bytes", "KiB in use"}}};
  for (const auto& [own, word] : kOwnWords) {
    if (key == own) return std::string(word);
  }
  std::string heading = key;
  for (const std::string_view unit : {kTime, kDuration, kSize}) {
    if (!heading.ends_with(unit)) continue;
    heading.resize(heading.size() - unit.size());
    break;
  }
  std::replace(heading.begin(), heading.end(), '_', ' ');
  return heading;
}

std::string table_of(const Json& segments) {
  cli::Table table({"segment", "owner", "reader", ">KiB in use", ">live", ">dead", "verdict"});
  for (const Json& segment : segments) {
    const bool is_ok = segment.at("verify").at("ok");
    const std::string verdict = cell(segment.at("verdict"));
    table.add({cell(segment.at("segment")), cell(segment.at("owner")), cell(segment.at("reader")),
               cli::grouped(segment.at("in_use_bytes").get<std::uint64_t>() / 1024),
               count_text(segment, "live_count"), count_text(segment, "dead_count"),
               is_ok ? verdict : cli::styled(cli::Style::kBad, verdict)});
  }
  return table.text() + sum_text(segments);
}

std::string text_of(const Json& segment) {
  std::string out =
      fmt::format("{}  [{}{}]\n", cell(segment.at("name")), cell(segment.at("source")),
                  segment.at("live") ? ", owner runs" : "");
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
      fmt::format_to(std::back_inserter(out), "  {}:\n", heading_of(key));
      add_pairs(out, value, "    ");
    }
  }
  return out;
}

}  // namespace beeline::dump
