#include "src/steward/child_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "src/os/error.h"
#include "src/os/uninterrupted.h"

namespace beeline::steward {

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::size_t kMostNameBytes = 64;

std::string file_name(std::string_view name, Pid pid) {
  std::string plain(name.substr(0, kMostNameBytes));
  for (char& letter : plain) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
                          std::string_view("._-").find(letter) != std::string_view::npos;
    if (!is_plain) letter = '_';
  }
  if (plain.starts_with('.')) plain.front() = '_';
  return fmt::format("{}-{}.log", plain, pid);
}

// Replaces bytes that are no printable ASCII, no UTF-8 lead or tail, or the line breaks.
std::string printable(std::string text) {
  for (char& letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if ((byte < 0x20 && letter != '\n' && letter != '\t') || byte == 0x7f) letter = '?';
  }
  return text;
}

}  // namespace

ChildLog::ChildLog(const std::string& directory, std::string_view name, Pid pid)
    : path_(directory + "/" + file_name(name, pid)) {}

Result<os::UniqueFd> ChildLog::open() const {
  os::UniqueFd fd(
      ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return os::system_failure(fmt::format("open the output file {}", path_));
  return fd;
}

bool ChildLog::trim(std::uint64_t keep) const {
  struct stat facts {};
  if (::stat(path_.c_str(), &facts) != 0) return false;
  const auto size = static_cast<std::uint64_t>(facts.st_size);
  const auto used = static_cast<std::uint64_t>(facts.st_blocks) * 512;
  const std::uint64_t slack = std::max(keep / 4, 4 * kPage);
  if (size <= keep || used <= keep + slack) return false;
  const os::UniqueFd fd(::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) return false;
  const auto front = static_cast<off_t>((size - keep) / kPage * kPage);
  if (::fallocate(fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, front) == 0) return true;
  return errno == EOPNOTSUPP && ::ftruncate(fd.get(), 0) == 0;
}

std::string ChildLog::last_lines() const {
  const os::UniqueFd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat facts {};
  if (!fd.valid() || ::fstat(fd.get(), &facts) != 0) return {};
  std::array<char, kMostLastBytes> bytes{};
  const auto from = std::max<off_t>(0, facts.st_size - static_cast<off_t>(bytes.size()));
  const auto got =
      os::uninterrupted([&] { return ::pread(fd.get(), bytes.data(), bytes.size(), from); });
  if (got <= 0) return {};
  std::string_view text(bytes.data(), static_cast<std::size_t>(got));
  // The front of a bounded file reads as zeros.
  text.remove_prefix(std::min(text.find_first_not_of('\0'), text.size()));
  const bool is_cut = from > 0;
  const auto first_end = text.find('\n');
  if (is_cut && first_end != std::string_view::npos && first_end + 1 < text.size()) {
    text.remove_prefix(first_end + 1);
  }
  while (text.ends_with('\n')) text.remove_suffix(1);
  return printable(std::string(text));
}

void ChildLog::remove() const { ::unlink(path_.c_str()); }

}  // namespace beeline::steward
