#include "tools/beeline/line_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "src/os/error.h"
#include "tools/beeline/options.h"

namespace beeline::cli {

Result<LineReader> LineReader::open(const std::string& argument) {
  LineReader reader;
  if (argument == "-") {
    reader.fd_ = STDIN_FILENO;
    reader.what_ = "stdin";
  } else if (argument.starts_with('@')) {
    auto file = open_body(argument.substr(1));
    if (!file) return tl::unexpected(std::move(file.error()));
    reader.file_ = std::move(*file);
    reader.fd_ = reader.file_.get();
    reader.what_ = argument.substr(1);
  } else {
    reader.rest_ = argument;
  }
  return reader;
}

Result<std::optional<std::string>> LineReader::next() {
  std::size_t end = rest_.find('\n');
  while (end == std::string::npos && fd_ >= 0) {
    std::array<char, 64 * 1024> bytes{};
    const ssize_t count = ::read(fd_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return os::system_failure(fmt::format("cannot read a line from {}", what_));
    if (count == 0) fd_ = -1;
    const std::size_t before = rest_.size();
    rest_.append(bytes.data(), static_cast<std::size_t>(count));
    end = rest_.find('\n', before);
  }
  if (rest_.empty()) return std::optional<std::string>();
  std::string line = rest_.substr(0, end);
  rest_.erase(0, end == std::string::npos ? end : end + 1);
  return std::optional(std::move(line));
}

}  // namespace beeline::cli
