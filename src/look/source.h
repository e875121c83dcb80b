#pragma once

// Finds segments among the descriptors of a hive's processes, or among saved files.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/result.h>

#include "src/os/fd.h"
#include "src/os/packet_socket.h"

namespace beeline::look {

// A segment that was found. It holds no descriptor, because a hive has more segments than a
// process may open files.
struct Source {
  std::string name;         // of the memfd, or of the file without its folder
  std::string path;         // the path to open
  bool saved = false;       // a file, not the memory of a process
  bool saved_live = false;  // a file that was copied while its owner ran
  dev_t device = 0;         // with `inode`: identifies a segment in the memory of a process
  ino_t inode = 0;
};

// Suffixes of saved segments; the second one: saved while the owner ran.
inline constexpr std::string_view kSavedSuffix = ".segment";
inline constexpr std::string_view kSavedLiveSuffix = ".live.segment";

// Every segment of a hive, each once, sorted by name. They come from its keeper, as the lock file
// gives its pid. If the keeper has gone, they come from any process that still holds one. If the
// keeper cannot be inspected (keeper_sight.h), they come from the processes that can. An empty
// name means $BEELINE_HIVE, else "default". Errors: kNoCoordinator (no such hive), kDenied (its
// processes belong to another user, or none is visible here), kInvalid (name of the hive),
// kSystem.
[[nodiscard]] Result<std::vector<Source>> find_segments(std::string_view hive);

// How long to look for a segment that the coordinator knows of: the keeper may take this long to
// receive it. The coordinator waits for its keeper equally long.
inline constexpr std::chrono::nanoseconds kKeeperPatience = os::kDefaultSendTimeout;

[[nodiscard]] Source saved_file(const std::string& path);

// Opens a segment for reading, even if its holder has moved it to another descriptor. Never
// blocks, whatever file is there. Errors: kClosed (its holder has closed it since), kDenied,
// kSystem.
[[nodiscard]] Result<os::UniqueFd> open_source(const Source& source);

}  // namespace beeline::look
