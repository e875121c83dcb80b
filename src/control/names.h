#pragma once

#include <cstddef>
#include <string_view>

#include <beeline/result.h>

namespace beeline::control {

inline constexpr std::size_t kMaxNameBytes = 64;
inline constexpr std::size_t kMaxHiveBytes = 48;

/// The name of an agent is 1 to 64 bytes of UTF-8 without control characters and without '/'.
/// Errors: kInvalid, saying what is wrong with it.
[[nodiscard]] Result<void> check_agent_name(std::string_view name);

/// The name of a hive is 1 to 48 of A-Z a-z 0-9 . _ - and starts with no dot: it names a directory.
/// Errors: kInvalid.
[[nodiscard]] Result<void> check_hive_name(std::string_view name);

}  // namespace beeline::control
