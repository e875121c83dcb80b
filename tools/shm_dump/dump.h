#pragma once

// A segment as one JSON document. The text form shows the same document (text.h), so that the two
// never differ.

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include <beeline/types.h>

#include "tools/shm_dump/segments.h"

namespace beeline::dump {

using Json = nlohmann::ordered_json;

/// The messages and agents that a document lists.
enum class Listing : std::uint8_t {
  kPresent,  ///< messages that were not taken, agents that have not ended
  kAll,      ///< also those that still lie in their places
};

/// The line of a segment in the table of all: its short name, owner, reader, memory, counts of
/// messages and verdict; `live_count` is null where it has none, or nothing tells how many.
[[nodiscard]] Json summary_of(const Segment& segment, const Segments& all);

/// Everything that a segment says, with the help of the others: its summary first. A segment whose
/// geometry does not hold shows its header alone.
[[nodiscard]] Json dump_segment(const Segment& segment, const Segments& all,
                                Listing listing = Listing::kPresent);

// The parts of it. REQUIRES: segment.is_sound(that kind).
void dump_link(const Segment& segment, const Segments& all, Listing listing, Json& out);
void dump_home(const Segment& segment, const Segments& all, Listing listing, Json& out);
void dump_status(const Segment& segment, Json& out);
void dump_directory(const Segment& segment, const Segments& all, Listing listing, Json& out);

/// How many messages of a link were not taken; nothing where nothing tells. REQUIRES:
/// segment.is_sound(kLink).
[[nodiscard]] std::optional<std::uint64_t> count_not_taken(const Segment& segment,
                                                           const Segments& all);

/// Walks the invariants of a segment: {"name", "kind", "ok"}, and if one is broken "invariant",
/// "where", "found" and "limit". A running owner is looked at several times, and believed to have
/// broken an invariant only if every look says the same. `at_rest`: the caller
/// knows that the owner was in none of its operations, so the order index must match, too.
[[nodiscard]] Json verify(const Segment& segment, bool at_rest);

/// The golden layout: structs, fields, constants and offsets.
[[nodiscard]] std::string layout_text();

// Words that several parts use.

/// "worker (3)", or "pid 3" where no directory names it.
[[nodiscard]] std::string agent_text(const Segments& all, std::uint32_t pid);
/// Milliseconds since a message was sent; null in a saved file, whose clock is not ours.
[[nodiscard]] Json age_ms(const Segment& segment, std::int64_t sent_ns);
/// Milliseconds since 1970; null for 0.
[[nodiscard]] Json unix_ms(std::uint64_t realtime_ns);

}  // namespace beeline::dump
