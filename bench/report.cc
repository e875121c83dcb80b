#include "bench/report.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "bench/benchmarks.h"
#include "bench/histogram_text.h"
#include "bench/markdown.h"
#include "bench/page.h"
#include "bench/plot.h"
#include "bench/targets.h"
#include "src/os/error.h"

namespace beeline::bench {
namespace {

namespace fs = std::filesystem;

// The files that a path means: itself, or those of a directory that hold rows.
std::vector<std::string> files_of(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (entry.path().extension() == ".jsonl") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Fields that may name a histogram saved beside the rows, and so a line of a picture.
constexpr auto kHistograms = {"hist", "limit_hist"};

std::vector<PercentilePoint> points_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return percentile_points(text.str());
}

// The percentiles of a row and of its limit as gnuplot draws them; empty: it has no histogram.
std::string curve_of(const Row& row, const std::string& name) {
  std::map<std::string, std::vector<PercentilePoint>> curves;
  for (const char* const key : kHistograms) {
    if (!row.contains(key)) continue;
    const bool is_limit = key == std::string_view("limit_hist");
    curves[is_limit ? "limit" : "measured"] = points_of(row.at(key).get<std::string>());
  }
  std::string title = "Percentiles";
  std::string mark = ": ";
  for (const Column& column :
       {Column{.title = "", .value = "/depth"},
        Column{.title = "", .value = "/size", .is_size = true},
        Column{.title = "", .value = "/payload"}, Column{.title = "", .value = "/by"},
        Column{.title = "", .value = row.contains("how") ? "/how" : "/mode"}}) {
    if (value_at(row, column.value).is_null()) continue;
    title += mark + cell_text(column, row);
    mark = ", ";
  }
  return curve_script(title, curves, name);
}

Result<void> read_rows(const std::string& file, RowsByTest& rows) {
  std::ifstream in(file);
  if (!in) return os::system_failure("cannot read " + file);
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty()) continue;
    Row row = Row::parse(line, nullptr, false);
    if (!row.is_object() || !row.contains("test") || !row.at("test").is_string()) {
      return fail(ErrorCode::kInvalid,
                  fmt::format("{}:{}: not a row of beeline-bench --json: a JSON object with a "
                              "\"test\"",
                              file, number));
    }
    for (const char* const key : kHistograms) {
      if (!row.contains(key) || !row.at(key).is_string()) continue;
      row[key] = (fs::path(file).parent_path() / row.at(key).get<std::string>()).string();
    }
    rows[row.at("test").get<std::string>()].push_back(std::move(row));
  }
  return {};
}

// The neighbours that are better than Beeline, with the columns of all rows of neighbours.
Section better_section(Description about, const RowsByTest& rows) {
  about.name = "better";
  about.about = fmt::format("the rows in which somebody else is better than Beeline{}; {}",
                            comparison_text(rows), about.about);
  return {std::move(about), better_rows(rows)};
}

// The tables in their order: the targets, the better neighbours, and each test that has rows.
std::vector<Section> sections_of(const RowsByTest& rows) {
  Description targets{.name = "targets",
                      .help = "",
                      .about = targets_text(machines_of(rows).size()),
                      .columns = target_columns()};
  std::vector<Section> sections{{std::move(targets), target_rows(rows)}};
  for (const auto& benchmark : all_benchmarks()) {
    const Description& about = benchmark->description();
    const auto those = rows.find(about.name);
    if (those == rows.end()) continue;
    if (about.name == "peers") sections.insert(sections.begin() + 1, better_section(about, rows));
    sections.push_back({about, those->second});
  }
  return sections;
}

void print_tables(const std::vector<Section>& sections) {
  for (const Section& section : sections) {
    const Description& about = section.about;
    std::string text = fmt::format("{}: {}\n", about.name, about.about);
    if (!section.rows.empty()) text += "\n" + head_line(about.columns) + "\n";
    for (const Row& row : section.rows) text += row_line(about.columns, row) + "\n";
    std::fputs((text + "\n").c_str(), stdout);
  }
}

class Report final : public Benchmark {
 public:
  Report()
      : Benchmark(
            {.name = "report",
             .help =
                 "The targets and what is reached of them, tables, and a page with pictures, of "
                 "rows written with --json",
             .about = ""}) {}

  void add_flags(CLI::App& command) override {
    command.add_option("rows", paths_, "Files of rows, or directories of *.jsonl")->required();
    command.add_option(
        "--out", out_,
        "The page; by default report.html in the first directory. targets.md goes beside it");
  }

  Result<void> run(Sink& out) override {
    RowsByTest rows;
    for (const std::string& path : paths_) {
      for (const std::string& file : files_of(path)) {
        if (auto read = read_rows(file, rows); !read) return read;
      }
    }
    if (rows.empty()) return fail(ErrorCode::kInvalid, "there are no rows in " + paths_.front());
    auto sections = sections_of(rows);
    print_tables(sections);
    draw_all(sections, out);
    const fs::path page = page_file();
    if (auto done = write("page", page, page_text(machines_of(rows), sections)); !done) return done;
    return write("targets", page.parent_path() / "targets.md", targets_markdown(rows));
  }

 private:
  static Result<void> write(const char* what, const fs::path& name, const std::string& text) {
    std::ofstream file(name);
    file << text;
    if (!file.flush()) return os::system_failure("cannot write " + name.string());
    std::fputs(fmt::format("{}: {}\n", what, name.string()).c_str(), stdout);
    return {};
  }

  // Draws a script; the section gets the reason if that fails.
  static void add(Section& section, const std::string& script, const Sink& out) {
    if (script.empty()) return;
    auto picture = draw(script);
    if (picture) return section.pictures.push_back(std::move(*picture));
    section.undrawn.push_back(picture.error().text);
    out.remark(
        fmt::format("{}: a picture is missing: {}", section.about.name, section.undrawn.back()));
  }

  static void draw_all(std::vector<Section>& sections, const Sink& out) {
    if (!has_gnuplot()) {
      return out.remark("no pictures: there is no gnuplot; scripts/setup bench installs it");
    }
    for (Section& section : sections) {
      const auto next_name = [&] {
        return fmt::format("{}{}_", section.about.name, section.pictures.size());
      };
      for (const Plot& plot : section.about.plots) {
        add(section, plot_script(plot, section.rows, next_name()), out);
      }
      for (const Row& row : section.rows) add(section, curve_of(row, next_name()), out);
    }
  }

  [[nodiscard]] fs::path page_file() const {
    if (!out_.empty()) return out_;
    std::error_code error;
    const fs::path first(paths_.front());
    return (fs::is_directory(first, error) ? first : first.parent_path()) / "report.html";
  }

  std::vector<std::string> paths_;
  std::string out_;
};

}  // namespace

std::unique_ptr<Benchmark> make_report() { return std::make_unique<Report>(); }

}  // namespace beeline::bench
