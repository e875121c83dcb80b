#pragma once

// A segment as one JSON document. The text form (text.h) shows the same document, so the two never
// differ.

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include <beeline/types.h>

#include "src/look/segments.h"

namespace beeline::dump {

// The documents show what look reads.
using namespace look;

using Json = nlohmann::ordered_json;

// The messages and agents that a document lists.
enum class Listing : std::uint8_t {
  kPresent,  // messages that were not taken, agents that have not ended
  kAll,      // also old messages and agents that still lie in their places
};

// The line of a segment in the table of all segments: its short name, owner, reader, memory,
// counts of messages and verdict. `live_count` is null if the segment has no messages or their
// number is unknown.
[[nodiscard]] Json summary_of(const Segment& segment, const Segments& all);

// The full document of a segment, summary first; the other segments supply names and progress. If
// the geometry does not hold, only the header is shown.
[[nodiscard]] Json dump_segment(const Segment& segment, const Segments& all,
                                Listing listing = Listing::kPresent);

// The parts of the document. REQUIRES: segment.is_sound(that kind).
void dump_link(const Segment& segment, const Segments& all, Listing listing, Json& out);
void dump_home(const Segment& segment, const Segments& all, Listing listing, Json& out);
void dump_status(const Segment& segment, Json& out);
void dump_history(const Segment& segment, Json& out);
void dump_directory(const Segment& segment, const Segments& all, Listing listing, Json& out);

// How many messages of a link were not taken; nothing if that is unknown. REQUIRES:
// segment.is_sound(kLink).
[[nodiscard]] std::optional<std::uint64_t> count_not_taken(const Segment& segment,
                                                           const Segments& all);

// Checks the invariants of a segment: {"name", "kind", "ok"}, and for a broken one "invariant",
// "where", "found" and "limit". The segment of a running owner is checked several times. An
// invariant counts as broken only if every check says the same. `at_rest`: the caller knows that
// the owner was in no operation, so the order index must match, too.
[[nodiscard]] Json verify(const Segment& segment, bool at_rest);

// The golden layout: structs, fields, constants and offsets.
[[nodiscard]] std::string layout_text();

// Words that several parts use.

// "worker (3)", or "pid 3" where no directory names it.
[[nodiscard]] std::string agent_text(const Segments& all, std::uint32_t pid);
// Milliseconds since a message was sent; null in a saved file, because it has another machine's
// clock.
[[nodiscard]] Json age_ms(const Segment& segment, std::int64_t sent_ns);
// Milliseconds since 1970; null for 0.
[[nodiscard]] Json unix_ms(std::uint64_t realtime_ns);

}  // namespace beeline::dump
