#pragma once
// A place in an agent's table of the links that it owns. Users hold the number as Peer::slot.

#include <cstdint>

#include "shm/ids.h"

namespace beeline {

using LinkSlot = shm::Id<struct LinkSlotTag, std::uint32_t>;

}  // namespace beeline
