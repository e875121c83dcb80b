#pragma once

#include <map>
#include <string>
#include <vector>

#include "src/os/fd.h"

namespace beeline::control {

// One entry of the keeper's table; the value is JSON that the keeper does not read.
struct KeptRecord {
  std::string value;
  std::vector<os::UniqueFd> fds;
};

// Everything that outlives a coordinator, by key: `agent/<pid>/<incarnation>`,
// `link/<incarnation>/<serial>`, `bell/<ringer>/<rung>`, `directory`, `dead_letters`,
// `ended_links`, `pids`, `history_level`, `history/<pid>/<incarnation>`. Keys hold no line breaks.
using KeptTable = std::map<std::string, KeptRecord>;

// Packets between the two. The coordinator says: keep KEY newline VALUE (a record with the fds
// beside it, which replace those before), note KEY newline VALUE (a new value, its fds are as they
// were), drop KEY, serving, served, quit, failed TEXT, files (tell me again), steward. The keeper
// says: down, files (with the listener).
inline constexpr char kKeepVerb[] = "keep ";
inline constexpr char kNoteVerb[] = "note ";
inline constexpr char kDropVerb[] = "drop ";
inline constexpr char kServingVerb[] = "serving";  // restored, about to accept clients
inline constexpr char kServedVerb[] = "served";    // answered a request: this life was worth it
inline constexpr char kQuitVerb[] = "quit";        // orderly end: remove all files and go
inline constexpr char kFailedVerb[] = "failed ";   // the reason for ending before it served
inline constexpr char kFilesVerb[] = "files";      // files were removed and made again: look
inline constexpr char kStewardVerb[] = "steward";  // somebody called pid 1: start its program
inline constexpr char kDownVerb[] = "down";        // the keeper was told to end

}  // namespace beeline::control
