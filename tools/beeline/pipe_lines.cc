#include "tools/beeline/pipe_lines.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

namespace beeline::cli {
namespace {

constexpr std::size_t kMostKept = 1U << 20;

// Whether stdout takes a page now, or within `wait`; nothing if it never will.
std::optional<bool> takes_more(std::chrono::milliseconds wait) {
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  const int count = ::poll(&out, 1, static_cast<int>(wait.count()));
  if (count < 0) return errno == EINTR ? std::optional(false) : std::nullopt;
  if ((out.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) return std::nullopt;
  return count != 0;
}

}  // namespace

bool PipeInput::read() {
  std::array<char, 64 * 1024> bytes{};
  const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  has_ended_ = count <= 0;
  if (has_ended_) return false;
  rest_.erase(0, begin_);
  scanned_ -= begin_;
  begin_ = 0;
  rest_.append(bytes.data(), static_cast<std::size_t>(count));
  return true;
}

PipeInput::Line PipeInput::cut(std::size_t end) {
  Line line{{}, ++number_, dropped_ + end - begin_, false};
  line.is_too_long = line.bytes > most_;
  if (!line.is_too_long) line.text = rest_.substr(begin_, end - begin_);
  begin_ = scanned_ = std::min(end + 1, rest_.size());
  dropped_ = 0;
  return line;
}

std::optional<PipeInput::Line> PipeInput::next() {
  const std::size_t end = rest_.find('\n', scanned_);
  if (end != std::string::npos) return cut(end);
  scanned_ = rest_.size();
  if (has_ended_ && dropped_ + scanned_ - begin_ != 0) return cut(scanned_);
  if (dropped_ + scanned_ - begin_ > most_) {
    dropped_ += scanned_ - begin_;
    begin_ = scanned_;
  }
  return std::nullopt;
}

void PipeOutput::add(const Json& line) { text_ += json_line(line); }

bool PipeOutput::has_room() const { return kept() < kMostKept; }

bool PipeOutput::write() {
  while (!is_empty()) {
    const auto takes = takes_more(std::chrono::milliseconds(0));
    if (!takes || !*takes) return takes.has_value();
    // A pipe that is ready for writing takes one page without blocking, and maybe no more.
    constexpr std::size_t kPage = 4096;
    const std::string_view part = std::string_view(text_).substr(begin_, kPage);
    if (!print(part)) return false;
    begin_ += part.size();
  }
  text_.clear();
  begin_ = 0;
  return true;
}

bool PipeOutput::finish(std::chrono::milliseconds patience) {
  while (write()) {
    if (is_empty()) return true;
    if (!takes_more(patience).value_or(false)) return false;
  }
  return false;
}

}  // namespace beeline::cli
