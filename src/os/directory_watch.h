#pragma once

#include <string>

#include "src/os/fd.h"

namespace beeline::os {

// Learns that files of a directory come or go (inotify). It is a comfort: if the kernel has no
// watch left for us, fd() is -1, nothing is ever reported, and the user of the watch looks by a
// timer alone. Not thread safe.
class DirectoryWatch {
 public:
  DirectoryWatch() noexcept;

  // Watches the directory from here on, beside those before; does nothing if it cannot be watched.
  // Returns whether it is watched.
  bool add(const std::string& directory) noexcept;

  // Readable when something has happened; -1 if the kernel has none for us.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

  void close() noexcept { fd_.reset(); }

  // Takes everything that was reported; true if there was anything. Does not block.
  bool drain() noexcept;

 private:
  UniqueFd fd_;
};

}  // namespace beeline::os
