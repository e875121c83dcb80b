#pragma once
// Why a send failed, in words for an Error: what, the limit, the value, what to do next.

#include <cstddef>
#include <string>
#include <string_view>

#include <beeline/types.h>

namespace beeline {

// Of a call that needs one.
inline constexpr std::string_view kNoPeer = "no peer: take one from Agent::peer()";

// `bytes`: of the payload that was to be sent with these options by an agent attached with `own`.
[[nodiscard]] std::string why_not_sent(const SendResult& result, std::size_t bytes,
                                       const SendOptions& options, const AttachOptions& own);

}  // namespace beeline
