#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "src/control/tree.h"

namespace beeline::control {

// The histories that the keeper holds: the pid of each life that has shown one. The lives lie in
// the order of their starts.
using Histories = std::map<shm::Incarnation, Pid>;

// The keeper holds so many. Then the oldest one of a life that has ended gives way.
inline constexpr std::size_t kMaxHistories = 256;

}  // namespace beeline::control
