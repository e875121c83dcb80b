#include "tools/beeline/demo/text.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace beeline::cli::demo {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxFileBytes = std::uint64_t{16} << 20;
constexpr std::uint64_t kMaxTotalBytes = std::uint64_t{64} << 20;
constexpr std::size_t kMaxTasks = 4000;
constexpr std::size_t kMinTasks = 8;
constexpr std::size_t kLinesPerTask = 4;

// REQUIRES: `errno` is that of a stream that could not be opened or read.
std::error_code last_error() { return {errno, std::generic_category()}; }

tl::unexpected<Error> unreadable(const std::string& path, const std::error_code& error) {
  return tl::unexpected<Error>(Error{ErrorCode::kSystem, error.value(),
                                     fmt::format("cannot read {}: {}", path, error.message())});
}

Result<std::string> read_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) return unreadable(path, last_error());
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) return unreadable(path, last_error());
  return text;
}

bool is_text(const std::string& path, std::uint64_t& total) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error || size == 0 || size > kMaxFileBytes || total + size > kMaxTotalBytes) return false;
  const auto text = read_file(path);
  if (!text || text->find('\0') != std::string::npos) return false;
  total += size;
  return true;
}

// As isspace() in the C locale.
constexpr bool is_space(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Cuts one text after every `lines` lines.
void cut(std::string_view text, std::size_t lines, std::vector<std::string>& tasks) {
  while (!text.empty()) {
    std::size_t end = 0;
    for (std::size_t i = 0; i < lines && end < text.size(); ++i) {
      const std::size_t newline = text.find('\n', end);
      end = newline == std::string_view::npos ? text.size() : newline + 1;
    }
    tasks.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

}  // namespace

Result<FileList> list_files(const std::string& directory) {
  std::error_code error;
  std::set<std::string> found;
  FileList files;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code unusable;
    if (!entry->is_regular_file(unusable)) continue;  // follows a symbolic link
    const auto path = fs::canonical(entry->path(), unusable);
    if (!unusable) found.insert(path.string());
  }
  if (error) return unreadable(directory, error);
  std::uint64_t total = 0;
  for (const std::string& path : found) {
    if (is_text(path, total)) {
      files.paths.push_back(path);
    } else {
      ++files.skipped;
    }
  }
  if (!files.paths.empty()) return files;
  return fail(ErrorCode::kInvalid,
              fmt::format("no text files in {} ({} files looked at): name a directory of texts, "
                          "`beeline demo DIR`",
                          directory, files.skipped));
}

Result<std::vector<std::string>> cut_into_tasks(const FileList& files) {
  std::vector<std::string> texts;
  std::size_t lines = 0;
  for (const std::string& path : files.paths) {
    auto text = read_file(path);
    if (!text) return tl::unexpected(std::move(text.error()));
    lines += count(*text).lines;
    texts.push_back(std::move(*text));
  }
  std::size_t per_task = std::max(kLinesPerTask, (lines + kMaxTasks - 1) / kMaxTasks);
  if (lines < kMinTasks * per_task) per_task = 1;
  std::vector<std::string> tasks;
  for (const std::string& text : texts) cut(text, per_task, tasks);
  if (tasks.size() >= kMinTasks) return tasks;
  return fail(ErrorCode::kInvalid,
              fmt::format("the texts have {} lines together, the demo needs {}: name a directory "
                          "with more",
                          lines, kMinTasks));
}

Totals count(std::string_view text) noexcept {
  Totals totals;
  totals.bytes = text.size();
  bool in_word = false;
  for (const char c : text) {
    if (c == '\n') ++totals.lines;
    if (!is_space(c) && !in_word) ++totals.words;
    in_word = !is_space(c);
  }
  if (!text.empty() && text.back() != '\n') ++totals.lines;
  return totals;
}

Result<Totals> count_directly(const FileList& files) {
  Totals totals;
  for (const std::string& path : files.paths) {
    std::error_code error;
    totals.bytes += fs::file_size(path, error);
    if (error) return unreadable(path, error);
    errno = 0;
    std::ifstream file(path);
    if (!file) return unreadable(path, last_error());
    for (std::string line; std::getline(file, line); ++totals.lines) {
      std::istringstream words(line);
      using Words = std::istream_iterator<std::string>;
      totals.words += static_cast<std::uint64_t>(std::distance(Words(words), Words()));
    }
  }
  return totals;
}

}  // namespace beeline::cli::demo
