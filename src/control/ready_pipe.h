#pragma once

namespace beeline::control {

// The byte that beelined writes to the descriptor of --ready-fd before it closes it.
inline constexpr char kReadyByte = '\x06';           // the hive listens
inline constexpr char kAlreadyRunningByte = '\x15';  // another process listens; the reason
                                                     // follows
// Anything else is the text of the error that made it end.

}  // namespace beeline::control
