#pragma once
// The status page: one page that an agent shows to every peer. It holds nothing secret.
//
// Written by: its agent alone. Read by: peers before they ring, tools.
//
//   awake ----(about to sleep: store, full fence, last look)----> futex | event
//     ^                                                              |
//     +------------------(woken, timed out, or looked and found)-----+
//
// Zero means awake. Each sleep has the next number, which stays in the word when it is over. A peer
// never writes here; FUTEX_WAKE needs only its read-only mapping.

#include <bit>
#include <string_view>

#include "shm/segment.h"

namespace beeline::shm {

enum class Sleep : std::uint32_t {
  kAwake = 0,
  kFutex = 1,  // blocked, or about to block, in FUTEX_WAIT on `sleep`
  kEvent = 2,  // wants its eventfd signalled
};

// The sleep word: the two lowest bits say how the agent sleeps, the bits above are the number of
// that sleep. Both lie in one word, so that a peer cannot end one sleep in the way that another one
// needs.
inline constexpr std::uint64_t kHowAsleep = 3;
[[nodiscard]] constexpr Sleep how_asleep(std::uint64_t word) {
  return static_cast<Sleep>(word & kHowAsleep);
}
[[nodiscard]] constexpr std::uint64_t awake_after(std::uint64_t word) { return word & ~kHowAsleep; }
[[nodiscard]] constexpr std::uint64_t next_sleep(std::uint64_t word, Sleep how) {
  return awake_after(word) + kHowAsleep + 1 + static_cast<std::uint64_t>(how);
}
// The half of the word that the kernel compares: the lower one, which lies at the address of the
// word.
[[nodiscard]] constexpr std::uint32_t futex_word(std::uint64_t word) {
  return static_cast<std::uint32_t>(word);
}
static_assert(std::endian::native == std::endian::little);

// The activity that an agent shows to observers; the engine decides nothing by it.
enum class AgentActivity : std::uint32_t {
  kIdle = 0,      // nothing in hand
  kRunning = 1,   // holds a lease
  kBlocked = 2,   // waits for an answer, or for space
  kSleeping = 3,  // its user said so
};

[[nodiscard]] constexpr std::string_view to_string(AgentActivity activity) {
  switch (activity) {
    case AgentActivity::kIdle:
      return "idle";
    case AgentActivity::kRunning:
      return "running";
    case AgentActivity::kBlocked:
      return "blocked";
    case AgentActivity::kSleeping:
      return "sleeping";
  }
  return "idle";
}

// The activity that a word means. The word may be a hostile agent's: an unknown one reads as idle.
[[nodiscard]] constexpr AgentActivity activity_from(std::uint32_t word) {
  return word <= static_cast<std::uint32_t>(AgentActivity::kSleeping)
             ? static_cast<AgentActivity>(word)
             : AgentActivity::kIdle;
}

struct StatusPage {
  SegmentHeader header;
  // On a line pair of its own: senders load it after every publish, so no word that changes often
  // may lie beside it.
  Atomic<std::uint64_t> sleep;  // Sleep and its number
  std::uint64_t reserved_sleep[15];
  // Changes often; peers and tools read it seldom.
  Atomic<std::uint32_t> queued;           // messages in the inbox
  Atomic<std::uint32_t> capacity;         // entries of the inbox table
  Atomic<std::uint32_t> critical_queued;  // how many of them are critical
  Atomic<std::uint32_t> activity;         // AgentActivity
  Atomic<std::uint64_t> sleeps;           // how often it blocked
  std::uint64_t reserved_counters[13];
  std::byte reserved_page[kPage - 512 - 128 - 128];
};
static_assert(sizeof(StatusPage) == kPage);
static_assert(offsetof(StatusPage, sleep) == 512);
static_assert(offsetof(StatusPage, queued) == 640);
static_assert(offsetof(StatusPage, activity) == 652);
static_assert(offsetof(StatusPage, sleeps) == 656);

inline constexpr std::uint64_t kStatusBytes = sizeof(StatusPage);

inline void init_status(StatusPage& page, std::uint32_t pid, Incarnation incarnation) {
  init_header(page.header, {SegmentKind::kStatus, kStatusBytes, pid, 0, incarnation, 0});
  add_section(page.header, SectionKind::kSleep, offsetof(StatusPage, sleep), 1, 256);
  // SYNC(segment.ready): everything above is visible to a reader that sees ready.
  page.header.ready.publish(1);
}

}  // namespace beeline::shm
