#pragma once

// The work of the demo: texts of a directory, cut into tasks and counted in two ways.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/result.h>

namespace beeline::cli::demo {

struct Totals {
  std::uint64_t lines = 0;
  std::uint64_t words = 0;
  std::uint64_t bytes = 0;

  Totals& operator+=(const Totals& other) noexcept {
    lines += other.lines;
    words += other.words;
    bytes += other.bytes;
    return *this;
  }
  friend bool operator==(const Totals&, const Totals&) = default;
};

struct FileList {
  std::vector<std::string> paths;  // rising
  std::uint64_t skipped = 0;       // unreadable, no text, or too large
};

// The regular files of a directory, not of those below it; each one once, however many symbolic
// links lead to it. Errors: kSystem (the directory), kInvalid (no text in it).
[[nodiscard]] Result<FileList> list_files(const std::string& directory);

// The texts, a few lines in each element; no line is cut. Errors: kSystem, kInvalid (too little
// text).
[[nodiscard]] Result<std::vector<std::string>> cut_into_tasks(const FileList& files);

// The count that a worker does.
[[nodiscard]] Totals count(std::string_view text) noexcept;

// The independent count: straight from the files with the standard library, without tasks. Errors:
// kSystem.
[[nodiscard]] Result<Totals> count_directly(const FileList& files);

}  // namespace beeline::cli::demo
