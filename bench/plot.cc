#include "bench/plot.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "src/os/error.h"

namespace beeline::bench {
namespace {

// Readable on white and on black. Lines beyond the last colour have the next dashes.
constexpr std::array<const char*, 6> kColours{"#2f7ed8", "#d9622b", "#2a9d5c",
                                              "#9b59b6", "#b8860b", "#808080"};
// The key lies below the plot, a row for each line: its labels are of any length.
constexpr std::size_t kPlotHeight = 340;
constexpr std::size_t kKeyRowHeight = 18;
constexpr double kLogFrom = 20.0;  // an axis that spans more than this factor is logarithmic

using Points = std::vector<std::pair<double, double>>;
using Lines = std::map<std::string, Points>;  // by their label

// A single place on the x axis is no line.
void drop_single_points(Lines& lines) {
  std::erase_if(lines, [](const auto& line) {
    const Points& points = line.second;
    return points.empty() || points.front().first == points.back().first;
  });
}

// The lines of a plot.
Lines lines_of(const Plot& plot, const std::vector<Row>& rows) {
  Lines lines;
  for (const Row& row : rows) {
    const Row x = value_at(row, plot.x);
    const std::string group =
        plot.group.empty() ? "" : cell_text({.title = "", .value = plot.group}, row) + ": ";
    for (const Plot::Line& line : plot.lines) {
      const Row y = value_at(row, line.value);
      if (!x.is_number() || !y.is_number()) continue;
      lines[group + line.label].emplace_back(x.get<double>(), y.get<double>() * line.scale);
    }
  }
  for (auto& [label, points] : lines) std::sort(points.begin(), points.end());
  drop_single_points(lines);
  return lines;
}

// Whether the axis of these values is to be logarithmic.
bool spans_much(const std::set<double>& values) {
  return !values.empty() && *values.begin() > 0.0 && *values.rbegin() > kLogFrom * *values.begin();
}

std::string axes_text(const Lines& lines) {
  std::set<double> xs;
  std::set<double> ys;
  for (const auto& [label, points] : lines) {
    for (const auto& [x, y] : points) {
      xs.insert(x);
      ys.insert(y);
    }
  }
  return std::string(spans_much(xs) ? "set logscale x\n" : "") +
         (spans_much(ys) ? "set logscale y\n" : "set yrange [0:*]\n");
}

std::string quoted(const std::string& text) {
  std::string safe = text;
  std::replace(safe.begin(), safe.end(), '"', '\'');
  return "\"" + safe + "\"";
}

// The x axis of a curve of percentiles is 1 / (1 - percentile).
constexpr auto kPercentileMarks =
    "set xtics (\"0\" 1, \"50\" 2, \"90\" 10, \"99\" 100, \"99.9\" 1000, \"99.99\" 10000, "
    "\"99.999\" 100000, \"99.9999\" 1000000, \"99.99999\" 10000000)\n";

std::string head_text(const std::string& title, const std::string& x_label,
                      const std::string& y_label, const std::string& name, std::size_t lines) {
  return fmt::format(
      "set terminal svg size 640,{} dynamic font \"sans-serif,12\" name \"{}\"\n"
      "set title {} noenhanced\nset xlabel {} noenhanced\nset ylabel {} noenhanced\n"
      "set key below Left reverse maxcols 1 noenhanced\nset grid\n",
      kPlotHeight + lines * kKeyRowHeight, name, quoted(title), quoted(x_label), quoted(y_label));
}

// The data of the lines, and the command that draws them.
std::string lines_text(const Lines& lines, const std::string& style) {
  std::string script;
  std::string list;
  std::size_t number = 0;
  for (const auto& [label, points] : lines) {
    script += fmt::format("$line{} << END\n", number);
    for (const auto& [x, y] : points) script += fmt::format("{} {}\n", x, y);
    script += "END\n";
    list +=
        fmt::format("{}$line{} using 1:2 with {} lw 2 lc rgb \"{}\" dt {} title {}",
                    number == 0 ? "plot " : ", ", number, style, kColours[number % kColours.size()],
                    1 + number / kColours.size(), quoted(label));
    ++number;
  }
  return script + list + "\n";
}

std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

}  // namespace

std::string plot_script(const Plot& plot, const std::vector<Row>& rows, const std::string& name) {
  const Lines lines = lines_of(plot, rows);
  if (lines.empty()) return "";
  return head_text(plot.title, plot.x_label, plot.y_label, name, lines.size()) + axes_text(lines) +
         lines_text(lines, "linespoints pt 7 ps 0.5");
}

std::string curve_script(const std::string& title,
                         const std::map<std::string, std::vector<PercentilePoint>>& curves,
                         const std::string& name) {
  Lines lines;
  for (const auto& [label, points] : curves) {
    for (const PercentilePoint& point : points) {
      // A clock that ticks more slowly than a thing happens says 0, which has no logarithm.
      if (point.value > 0.0) lines[label].emplace_back(point.inverse, point.value);
    }
  }
  drop_single_points(lines);
  if (lines.empty()) return "";
  return head_text(title, "percentile", "ns", name, lines.size()) + axes_text(lines) +
         "set logscale x\n" + kPercentileMarks + lines_text(lines, "lines");
}

bool has_gnuplot() {
  const char* const path = ::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (::access((folder + "/gnuplot").c_str(), X_OK) == 0) return true;
  }
  return false;
}

Result<std::string> draw(const std::string& script) {
  const char* const place = ::getenv("TMPDIR");
  std::string folder = std::string(place != nullptr && *place != '\0' ? place : "/tmp");
  folder += "/beeline-plot-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) {
    return os::system_failure("cannot make the directory " + folder + " (set TMPDIR)");
  }
  std::ofstream(folder + "/plot") << "set output '" << folder << "/svg'\n" << script;
  const int status =
      std::system(fmt::format("gnuplot '{0}/plot' 2>'{0}/complaint'", folder).c_str());
  std::string svg = text_of(folder + "/svg");
  const std::string complaint = text_of(folder + "/complaint");
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  const auto first = svg.find("<svg");
  // A picture that gnuplot draws while it complains is not the one that was asked for.
  if (status != 0 || first == std::string::npos || !complaint.empty()) {
    return fail(ErrorCode::kSystem,
                fmt::format("gnuplot ended with {} and said: {}", status, complaint));
  }
  svg.erase(0, first);  // the page has a head of its own
  for (const std::string black : {"\"black\"", "'black'"}) {
    for (auto at = svg.find(black); at != std::string::npos; at = svg.find(black, at)) {
      svg.replace(at, black.size(), "\"currentColor\"");
    }
  }
  return svg;
}

}  // namespace beeline::bench
