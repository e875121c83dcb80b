#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace beeline::look {

// Escapes text of a segment for a terminal and for JSON. Printable ASCII and UTF-8 stay. A
// backslash, control characters and bytes that are no UTF-8 become \\, \n, \r, \t or \xNN.
// So bytes of a peer cannot move a cursor here.
[[nodiscard]] std::string escape(std::string_view text);
[[nodiscard]] std::string escape(std::span<const std::byte> bytes);

}  // namespace beeline::look
