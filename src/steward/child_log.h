#pragma once

// The output of a child: stdout and stderr in one file. The child itself writes the file, so its
// output goes on while there is no steward. The steward bounds the file from its front.

#include <cstdint>
#include <string>
#include <string_view>

#include <beeline/result.h>
#include <beeline/types.h>

#include "src/os/fd.h"

namespace beeline::steward {

inline constexpr std::size_t kMostLastBytes = 4096;

class ChildLog {
 public:
  // The file of a child in this directory.
  ChildLog(const std::string& directory, std::string_view name, Pid pid);

  [[nodiscard]] const std::string& path() const { return path_; }
  // Opens the file for a child, and makes it. Errors: kSystem.
  [[nodiscard]] Result<os::UniqueFd> open() const;
  // Gives back the front of the file where it has clearly more than `keep` bytes. On a file system
  // without holes all of it goes. True if bytes went.
  bool trim(std::uint64_t keep) const;
  // The last lines as UTF-8, at most kMostLastBytes; empty if there are none.
  [[nodiscard]] std::string last_lines() const;
  void remove() const;

 private:
  std::string path_;
};

}  // namespace beeline::steward
