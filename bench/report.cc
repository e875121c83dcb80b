#include "bench/report.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/benchmarks.h"
#include "bench/page.h"
#include "bench/plot.h"
#include "src/os/error.h"

namespace beeline::bench {
namespace {

namespace fs = std::filesystem;

/// The files that a path means: itself, or those of a directory that hold rows.
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
    rows[row.at("test").get<std::string>()].push_back(std::move(row));
  }
  return {};
}

void print_tables(const std::vector<std::unique_ptr<Benchmark>>& benchmarks,
                  const RowsByTest& rows) {
  for (const auto& benchmark : benchmarks) {
    const Description& about = benchmark->description();
    const auto those = rows.find(about.name);
    if (those == rows.end()) continue;
    std::string text =
        fmt::format("{}: {}\n\n{}\n", about.name, about.about, head_line(about.columns));
    for (const Row& row : those->second) text += row_line(about.columns, row) + "\n";
    std::fputs((text + "\n").c_str(), stdout);
  }
}

class Report final : public Benchmark {
 public:
  Report()
      : Benchmark({.name = "report",
                   .help = "Tables, and a page with pictures, of rows written with --json",
                   .about = ""}) {}

  void add_flags(CLI::App& command) override {
    command.add_option("rows", paths_, "Files of rows, or directories of *.jsonl")->required();
    command.add_option("--out", out_, "The page; by default report.html in the first directory");
  }

  Result<void> run(Sink& out) override {
    RowsByTest rows;
    for (const std::string& path : paths_) {
      for (const std::string& file : files_of(path)) {
        if (auto read = read_rows(file, rows); !read) return read;
      }
    }
    if (rows.empty()) return fail(ErrorCode::kInvalid, "there are no rows in " + paths_.front());
    const auto benchmarks = all_benchmarks();
    print_tables(benchmarks, rows);
    auto pictures = draw_all(benchmarks, rows, out);
    if (!pictures) return tl::unexpected(pictures.error());
    const std::string page = page_file();
    std::ofstream file(page);
    file << page_text(benchmarks, rows, *pictures);
    if (!file.flush()) return os::system_failure("cannot write " + page);
    std::fputs(("page: " + page + "\n").c_str(), stdout);
    return {};
  }

 private:
  using Pictures = std::map<std::string, std::vector<std::string>>;

  static Result<Pictures> draw_all(const std::vector<std::unique_ptr<Benchmark>>& benchmarks,
                                   const RowsByTest& rows, const Sink& out) {
    Pictures pictures;
    if (!has_gnuplot()) {
      out.remark("no pictures: there is no gnuplot; scripts/setup bench installs it");
      return pictures;
    }
    for (const auto& benchmark : benchmarks) {
      const Description& about = benchmark->description();
      const auto those = rows.find(about.name);
      if (those == rows.end()) continue;
      for (const Plot& plot : about.plots) {
        const std::string name = fmt::format("{}{}_", about.name, pictures[about.name].size());
        const std::string script = plot_script(plot, those->second, name);
        if (script.empty()) continue;
        auto picture = draw(script);
        if (!picture) return tl::unexpected(picture.error());
        pictures[about.name].push_back(std::move(*picture));
      }
    }
    return pictures;
  }

  [[nodiscard]] std::string page_file() const {
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
