#include "bench/scratch_folder.h"

#include <stdlib.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "src/os/error.h"

namespace beeline::bench {

Result<ScratchFolder> ScratchFolder::create(const std::string& place, const std::string& purpose) {
  std::string path = fmt::format("{}/beeline-bench-{}-XXXXXX", place, purpose);
  if (::mkdtemp(path.data()) == nullptr) return os::system_failure("mkdtemp " + path);
  return ScratchFolder(std::move(path));
}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace beeline::bench
