#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace beeline::dump {

/// The id of a message for people: "3:21" is message 21 of pid 3; empty for 0, which is none. In
/// JSON, too: the number needs 64 bits, of which many readers of JSON keep 53.
[[nodiscard]] std::string id_text(std::uint64_t id);

/// What id_text() wrote; nothing if it cannot have been written by it.
[[nodiscard]] std::optional<std::uint64_t> parse_id(std::string_view text);

}  // namespace beeline::dump
