#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shm/segment.h"

namespace beeline::look {

// The parts of a memfd's name. The owner chooses the name, so it only says which memfd to look at;
// the header is decisive.
//
// beeline-<hive>-home-<pid>-<incarnation>
// beeline-<hive>-status-<pid>-<incarnation>
// beeline-<hive>-history-<pid>-<incarnation>
// beeline-<hive>-link-<owner pid>-<incarnation>-<serial>-<peer pid>
// beeline-<hive>-directory-<epoch>
struct SegmentName {
  shm::SegmentKind kind = shm::SegmentKind::kNone;
  std::uint32_t pid = 0;
  shm::Incarnation incarnation{};  // for a directory: its epoch
  std::uint32_t serial = 0;
  std::uint32_t peer_pid = 0;
};

// Reads the name of a segment of `hive`; nullopt for any other text.
[[nodiscard]] std::optional<SegmentName> parse_segment_name(std::string_view text,
                                                            std::string_view hive);

// Cuts "beeline-HIVE-" off the name of a segment: "home-9-5000" is left. Any other text stays
// whole.
[[nodiscard]] std::string_view short_segment_name(std::string_view name);

// Returns NAME from "/memfd:NAME (deleted)", the form that /proc/PID/fd shows. Empty for any other
// target.
[[nodiscard]] std::string_view memfd_name(std::string_view target);

}  // namespace beeline::look
