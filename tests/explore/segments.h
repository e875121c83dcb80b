#pragma once
// The segments that scenarios share, and the names of their words in a trace.

#include <cstddef>
#include <cstdint>
#include <string>

#include "shm/directory.h"
#include "shm/history.h"
#include "shm/home.h"
#include "shm/link.h"
#include "shm/status.h"

namespace beeline::explore {

// Memory of that name in the arena; the same each time. Not cleared.
[[nodiscard]] std::byte* segment(const char* name, std::size_t bytes);
// "link A>B +0x300"
[[nodiscard]] std::string segment_name(const std::byte* at);

inline constexpr std::uint32_t kPidA = 2;  // of the sender
inline constexpr std::uint32_t kPidB = 3;  // of the receiver
inline constexpr shm::Incarnation kLifeA{11};
inline constexpr shm::Incarnation kLifeB{12};
inline constexpr shm::LinkKey kLinkA{kLifeA, 1};  // A's link to B
inline constexpr shm::SlabIndex kSlab(0);         // the first one of a link

// Lanes of `slots` slots, and payloads of 64 KiB at most.
[[nodiscard]] constexpr shm::LinkContract contract_of(std::uint32_t slots) {
  return {slots, slots, shm::kMinMaxPayload};
}

// A link, cleared except for its slabs.
[[nodiscard]] shm::Link fresh_link(const char* name, const shm::LinkContract& contract);
[[nodiscard]] inline shm::LinkView view_of(const shm::Link& link) {
  return {link.base(), link.contract(), shm::WholeLink{}};
}
[[nodiscard]] shm::StatusPage& fresh_status(const char* name);
// A home of 16 entries, all of them allocated, cleared and initialised.
[[nodiscard]] shm::Home fresh_home(const char* name, shm::Incarnation life);
// A directory, cleared up to its fourth record.
[[nodiscard]] std::byte* fresh_directory();
// A history, cleared up to the second row of its first ring.
[[nodiscard]] std::byte* fresh_history();

}  // namespace beeline::explore
