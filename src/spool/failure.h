#pragma once

#include <string_view>

#include <fmt/format.h>

#include <beeline/spool.h>

namespace beeline::spool {

// A failure without an errno: the document's text of the code, then `about`.
[[nodiscard]] inline tl::unexpected<Failure> failure(Code code, std::string_view about) {
  return tl::unexpected<Failure>(Failure{code, 0, fmt::format("{}: {}", text_of(code), about)});
}

}  // namespace beeline::spool
