#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace beeline::dump {

/// Text of a segment for a terminal and for JSON: printable ASCII and UTF-8 as they are; a
/// backslash, control characters and bytes that are no UTF-8 as \\, \n, \r, \t or \xNN. What a peer
/// wrote cannot move a cursor here.
[[nodiscard]] std::string escape(std::string_view text);
[[nodiscard]] std::string escape(std::span<const std::byte> bytes);

}  // namespace beeline::dump
