#pragma once
// Seeded bugs. A test that proves that nothing is lost proves nothing unless it fails where
// something is: each mutant breaks one order of stores or one rule, and some test must notice.
//
//   if (is_mutant(Mutant::kName)) the wrong thing;
//
// The library holds none of them: is_mutant() is false when it is compiled. A test program that is
// to be caught compiles the engine itself with BEELINE_MUTANTS and says by its name which bug it
// has.

#include <array>
#include <cstddef>
#include <string_view>

namespace beeline::shm {

enum class Mutant : unsigned char {
  kNone,
  kCommitBeforeFill,      // a slot is published before it is written
  kCursorBeforePut,       // a drain is committed before its entry stands
  kQueuedBeforeFields,    // an entry is queued before it is written
  kFreeBeforeStamp,       // an entry is freed before its slab is stamped
  kDeadBeforeReason,      // a dead letter gets its reason last
  kReasonOutFirst,        // a letter loses its reason, then is revived
  kRetiredBeforeRow,      // a closed row is counted before it says so
  kRoundBeforeRecords,    // the directory turns to records that are half written
  kStampOverlooked,       // a successor takes what was stamped
  kUncommittedInherited,  // a successor takes what was put and not committed
};

// Their names, each found by the test of the second word.
inline constexpr std::array<std::string_view, 11> kMutantNames = {
    "none",
    "commit_before_fill",     // killpoints
    "cursor_before_put",      // killpoints
    "queued_before_fields",   // killpoints
    "free_before_stamp",      // killpoints
    "dead_before_reason",     // killpoints
    "reason_out_first",       // killpoints
    "retired_before_row",     // killpoints
    "round_before_records",   // killpoints
    "stamp_overlooked",       // killpoints
    "uncommitted_inherited",  // killpoints
};

#ifdef BEELINE_MUTANTS
inline constexpr bool kHasMutants = true;
inline Mutant mutant = Mutant::kNone;  // chosen once, before anything runs
[[nodiscard]] inline bool is_mutant(Mutant which) { return mutant == which; }
#else
inline constexpr bool kHasMutants = false;
[[nodiscard]] constexpr bool is_mutant(Mutant /*which*/) { return false; }
#endif

}  // namespace beeline::shm
