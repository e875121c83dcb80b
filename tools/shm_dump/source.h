#pragma once

// Where segments come from: the descriptors of a hive's processes, or saved files.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/result.h>

#include "src/os/fd.h"
#include "src/os/packet_socket.h"

namespace beeline::dump {

/// A segment that was found. It holds no descriptor: a hive has more segments than a process may
/// open files.
struct Source {
  std::string name;         ///< of the memfd, or of the file without its folder
  std::string path;         ///< what to open
  bool saved = false;       ///< a file, not the memory of a process
  bool saved_live = false;  ///< a file whose copy was taken while its owner ran
  dev_t device = 0;         ///< with `inode`: which segment it is, for the memory of a process
  ino_t inode = 0;
};

/// Names of saved segments end so; the second form was taken while the owner ran.
inline constexpr std::string_view kSavedSuffix = ".segment";
inline constexpr std::string_view kSavedLiveSuffix = ".live.segment";

/// Every segment of a hive, each once, sorted by name: from its keeper, whose pid stands in the
/// lock file; if that has gone, from any process that still holds one. An empty name means
/// $BEELINE_HIVE, else "default". Where the keeper cannot be looked into (keeper_sight.h) they are
/// those of the processes that can. Errors: kNoCoordinator (no such hive), kDenied (its processes
/// belong to somebody else, or none is visible here), kInvalid (name of the hive), kSystem.
[[nodiscard]] Result<std::vector<Source>> find_segments(std::string_view hive);

/// How long the keeper may take to find time for what it was handed: a segment that the coordinator
/// knows of is looked for as long. It waits for its keeper as long itself.
inline constexpr std::chrono::nanoseconds kKeeperPatience = os::kDefaultSendTimeout;

[[nodiscard]] Source saved_file(const std::string& path);

/// Opens a segment for reading, also where its holder has it under another descriptor by now; does
/// not wait, whatever lies there. Errors: kClosed (its holder has closed it since), kDenied,
/// kSystem.
[[nodiscard]] Result<os::UniqueFd> open_source(const Source& source);

}  // namespace beeline::dump
