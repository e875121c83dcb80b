#pragma once

namespace beeline::control {

// What beelined writes to the descriptor of --ready-fd before it closes it.
inline constexpr char kReadyByte = '\x06';           ///< we listen
inline constexpr char kAlreadyRunningByte = '\x15';  ///< somebody else listens; the reason follows
// Anything else is the text of the error that made it end.

}  // namespace beeline::control
