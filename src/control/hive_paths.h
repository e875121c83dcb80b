#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/result.h>

#include "src/control/hive_holder.h"

namespace beeline::control {

/// What says where the directory of a hive is.
enum class Place : std::uint8_t {
  kNamed,    ///< $BEELINE_DIR
  kRuntime,  ///< $XDG_RUNTIME_DIR/beeline
  kRun,      ///< /run/beeline
  kTmp,      ///< /tmp/beeline-<uid>
};

/// Where the files of a hive are. All lie in one directory that belongs to the hive.
struct HivePaths {
  std::string hive;
  std::string directory;
  std::string socket;
  std::string lock;   ///< who holds it, see hive_holder.h
  std::string state;  ///< what a new keeper must know: reserved pids, last epoch
  std::string log;
  std::string last_log;         ///< of the hive that was here before
  Place place = Place::kNamed;  ///< whether it may be believed: hive_place.h
};

/// Finds the directory: $BEELINE_DIR itself, else $XDG_RUNTIME_DIR/beeline/<hive>, else
/// /run/beeline/<hive> where we may write there, else /tmp/beeline-<uid>/<hive>. An empty `hive`
/// means $BEELINE_HIVE, else the hive that $BEELINE_DIR belongs to, else "default". Creates
/// nothing. Errors: kInvalid (name of the hive, or $BEELINE_DIR belongs to another one).
[[nodiscard]] Result<HivePaths> find_hive(std::string_view hive);

/// The directories below which find_hive() puts hives of this user, here or in another environment:
/// a login has $XDG_RUNTIME_DIR, a job of cron has not. They may be missing. One may be named
/// twice.
[[nodiscard]] std::vector<std::string> shared_places();

/// The files of a hive in this directory.
[[nodiscard]] HivePaths paths_in(std::string directory, std::string hive);

/// The log of the hive that was in this directory before; empty if there is none.
[[nodiscard]] std::string last_log(const std::string& directory);

/// Creates the directory (and below the shared places its parent, mode 0700) if it is missing, and
/// refuses one that is not ours alone: another owner, or writable by others. Root makes none for
/// $BEELINE_DIR in a directory of another user. Errors: kDenied with what was found, kSystem; those
/// of check_place().
[[nodiscard]] Result<void> prepare_directory(const HivePaths& paths);

/// The directories that are ours to make, the outermost first; the last one is the hive's own.
[[nodiscard]] std::vector<std::string> own_directories(const HivePaths& paths);

/// Whether prepare_directory() would take it as it is, or another user runs a hive there that we
/// may join; one that is not there is good. Changes nothing. Errors: kDenied, kSystem.
[[nodiscard]] Result<void> check_directory(const HivePaths& paths);

/// Whether the members of a group can pass all directories above that of the hive. One that lets
/// another group pass is taken to be meant for them, too: who is in both we cannot know. Errors:
/// kDenied with the one that they cannot pass, kSystem.
[[nodiscard]] Result<void> check_reachable(const HivePaths& paths, gid_t group);

/// Whom the directory lets in now. Errors: kSystem.
[[nodiscard]] Result<DirectoryAccess> directory_access(const HivePaths& paths);

/// Lets the members of a group connect to `socket`, and reach it: a directory that they may pass
/// already stays as it is. Errors: kSystem (EPERM: we are no member of it).
[[nodiscard]] Result<void> admit_group(const HivePaths& paths, const std::string& socket,
                                       gid_t group);

/// Takes back what admit_group() did to the directory, also where an earlier call was killed half
/// way. One that somebody has changed since stays; to close it to all groups is no change, as that
/// is what an earlier call may have left.
/// Errors: kSystem; where we may not give it its group again (EPERM: we are no member of that) it
/// is closed to all groups.
[[nodiscard]] Result<void> close_directory(const HivePaths& paths, const DirectoryOpening& opening);

/// The group of that name or number. Errors: kInvalid.
[[nodiscard]] Result<gid_t> find_group(const std::string& name);

}  // namespace beeline::control
