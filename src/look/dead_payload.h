#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <beeline/result.h>

namespace beeline::look {

// The whole payload of a dead letter of agent `pid`. Errors: kInvalid (it has no such letter, or
// not any more), kNoCoordinator, kDenied, kNoAgent, kBadSegment (the home is damaged, or the letter
// describes an impossible payload), kSystem.
[[nodiscard]] Result<std::string> read_dead_payload(std::string_view hive, std::uint32_t pid,
                                                    std::uint64_t id);

}  // namespace beeline::look
