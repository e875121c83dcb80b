#include "src/os/text_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

#include "src/os/fd.h"
#include "src/os/uninterrupted.h"

namespace beeline::os {

std::string read_text_file(const std::string& path) {
  constexpr std::size_t kPartBytes = 4096;
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  if (!file.valid()) return text;
  for (;;) {
    const std::size_t had = text.size();
    text.resize(had + kPartBytes);
    const ssize_t part =
        uninterrupted([&] { return ::read(file.get(), text.data() + had, kPartBytes); });
    text.resize(had + static_cast<std::size_t>(std::max<ssize_t>(part, 0)));
    if (part <= 0) return text;
  }
}

}  // namespace beeline::os
