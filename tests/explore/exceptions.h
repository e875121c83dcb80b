#pragma once
// Orders that stand in the source and that no execution needs, each with the reason why it stands
// there. One that a scenario does need, or that is gone from the source, does not belong here.

#include <array>
#include <string_view>

namespace beeline::explore {

struct Exception {
  std::string_view file;
  std::string_view function;
  std::string_view text;  // in the line; empty: every line of the function
  std::string_view reason;
};

inline constexpr std::string_view kAfterDeath =
    "read by its owner, or after its death was proven, which gives every order there is";
inline constexpr std::string_view kBeforeReady =
    "the home says ready later, and nobody looks at one that does not";
inline constexpr std::string_view kBankFirst =
    "whoever finds the bank by its name, which is published later, sees this too";

inline constexpr std::array kExceptions = std::to_array<Exception>({
    {"shm/directory.h", "epoch", "", "a number by itself: nothing is read because of it"},
    {"shm/directory.h", "read_record", "if (control().current.observe() == before)",
     "the words before it were observed, and no later load passes those"},
    {"shm/directory.h", "DirectoryWriter", "control().current.publish",
     "the header says ready later, and nobody looks at one that does not"},
    {"shm/handover.h", "was_stamped", "", kAfterDeath},
    {"shm/handover.h", "inherit_entry", "", kBeforeReady},
    {"shm/handover.h", "inherit_stamps", "own.bank(bank).stamps_ready.publish", kBankFirst},
    {"shm/handover.h", "inherit_stamps", "", kAfterDeath},
    {"shm/handover.h", "inherit_counters", "home.control().retired.publish", kBeforeReady},
    {"shm/handover.h", "inherit_counters", "", kAfterDeath},
    {"shm/home.h", "rows_allocated", "", kAfterDeath},
    {"shm/home.h", "entries_allocated", "", kAfterDeath},
    {"shm/home.h", "taken_from", "", kAfterDeath},
    {"shm/home.h", "drained_total", "", kAfterDeath},
    {"shm/home.h", "close_row", "row.retired.publish(total)",
     "the publish behind it keeps it before the count, and nothing before it matters"},
    {"shm/inbox.h", "add_entries", "",
     "the memory was allocated by a system call, and what lies there is zero: free"},
    {"shm/inbox.h", "put", "crash_fence",
     "the fence before the counter of what was finished stands between already; this one does not "
     "count on it"},
    {"shm/inbox.h", "requeue", "",
     "the mark that goes with it is taken out by the successor too; the rest is one word"},
    {"shm/link.h", "close_bank", "bank.incarnation.publish",
     "closing takes back a name; nothing is read because a name is gone"},
    {"shm/link.h", "close_bank", "bank.stamps_ready.publish", kBankFirst},
});

}  // namespace beeline::explore
