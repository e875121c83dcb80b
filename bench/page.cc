#include "bench/page.h"

#include <algorithm>

#include <fmt/format.h>

namespace beeline::bench {
namespace {

constexpr auto kHead = R"(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Beeline, measured</title>
<style>
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #8886; }
.left, .note { text-align: left; }
.note { color: #c0392b; }
.wide { overflow-x: auto; }
svg { max-width: 100%; height: auto; }
</style>
<h1>Beeline, measured</h1>
<p>Every figure stands beside the limit of the machine in the same run: a bare round trip of a cache
line between the two pinned processes, or of a futex or eventfd where they sleep. It is measured
before and after; where the two differ by more than 30&nbsp;% the run was done again, a few times,
and then marked. Compare ratios, not nanoseconds.</p>
)";

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '&':
        safe += "&amp;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string machine_text(const Row& machine) {
  std::string text = "<h2>machine</h2>\n<div class=wide><table>\n";
  for (const auto& [key, value] : machine.items()) {
    text += fmt::format("<tr><th>{}<td>{}\n", escaped(key),
                        escaped(value.is_string() ? value.get<std::string>() : value.dump()));
  }
  return text + "</table></div>\n";
}

std::string table_text(const Description& about, const std::vector<Row>& rows) {
  std::string text = "<div class=wide><table>\n<tr>";
  const auto add = [&](const char* tag, const Column& column, const std::string& cell) {
    text += fmt::format("<{}{}>{}", tag, column.is_left ? " class=left" : "", escaped(cell));
  };
  for (const Column& column : about.columns) add("th", column, column.title);
  for (const Row& row : rows) {
    text += "\n<tr>";
    for (const Column& column : about.columns) add("td", column, cell_text(column, row));
    const std::string note = note_of(row);
    if (!note.empty()) text += "<td class=note>" + escaped(note);
  }
  return text + "\n</table></div>\n";
}

}  // namespace

std::vector<Row> machines_of(const RowsByTest& rows) {
  std::vector<Row> machines;
  const auto without_load = [](Row machine) {
    machine.erase("load");
    return machine;
  };
  for (const auto& [test, those] : rows) {
    for (const Row& row : those) {
      if (!row.contains("machine") || !row.at("machine").is_object()) continue;
      const bool is_known = std::any_of(machines.begin(), machines.end(), [&](const Row& machine) {
        return without_load(machine) == without_load(row.at("machine"));
      });
      if (!is_known) machines.push_back(row.at("machine"));
    }
  }
  return machines;
}

std::string page_text(const std::vector<Row>& machines, const std::vector<Section>& sections) {
  std::string text = kHead;
  if (machines.empty()) {
    text += "<p>The rows name no machine; those of <code>limit</code> do.</p>\n";
  }
  for (const Row& machine : machines) text += machine_text(machine);
  for (const Section& section : sections) {
    text += fmt::format("<h2>{}</h2>\n<p>{}</p>\n", escaped(section.about.name),
                        escaped(section.about.about));
    if (!section.rows.empty()) text += table_text(section.about, section.rows);
    for (const std::string& picture : section.pictures) text += "<p>" + picture + "\n";
    for (const std::string& why : section.undrawn) {
      text += "<p class=note>A picture is missing: " + escaped(why) + "\n";
    }
  }
  return text + "</html>\n";
}

}  // namespace beeline::bench
