#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/result.h>

#include "src/control/hive_holder.h"

namespace beeline::control {

// The rule that chose the directory of a hive.
enum class Place : std::uint8_t {
  kNamed,    // $BEELINE_DIR
  kRuntime,  // $XDG_RUNTIME_DIR/beeline
  kRun,      // /run/beeline
  kTmp,      // /tmp/beeline-<uid>
};

// The paths of a hive's files. All lie in one directory that belongs to the hive.
struct HivePaths {
  std::string hive;
  std::string directory;
  std::string socket;
  std::string lock;   // names the holder, see hive_holder.h
  std::string state;  // reserved pids and last epoch, for a new keeper
  std::string log;
  std::string last_log;         // of the hive that was here before
  Place place = Place::kNamed;  // hive_place.h says if it may be trusted
};

// Finds the directory: $BEELINE_DIR itself, else $XDG_RUNTIME_DIR/beeline/<hive>, else
// /run/beeline/<hive> if we may write there, else /tmp/beeline-<uid>/<hive>. An empty `hive` means
// $BEELINE_HIVE, else the hive that $BEELINE_DIR belongs to, else "default". Creates nothing.
// Errors: kInvalid (name of the hive, or $BEELINE_DIR belongs to another one).
[[nodiscard]] Result<HivePaths> find_hive(std::string_view hive);

// The directories below which find_hive() puts hives of this user, here or in another environment:
// a login has $XDG_RUNTIME_DIR, a cron job has not. They may be missing, and one may be named
// twice.
[[nodiscard]] std::vector<std::string> shared_places();

// The files of a hive in this directory.
[[nodiscard]] HivePaths paths_in(std::string directory, std::string hive);

// The log of the hive that was in this directory before; empty if there is none.
[[nodiscard]] std::string last_log(const std::string& directory);

// Creates the directory if it is missing (mode 0700, and its parent too below the shared places).
// Refuses one that is not ours alone: another owner, or writable by others. Root makes none for
// $BEELINE_DIR in a directory of another user. Errors: kDenied with the finding, kSystem; those of
// check_place().
[[nodiscard]] Result<void> prepare_directory(const HivePaths& paths);

// The directories that we may make, the outermost first; the last one is the hive's own.
[[nodiscard]] std::vector<std::string> own_directories(const HivePaths& paths);

// Succeeds if prepare_directory() would take the directory as it is, or if another user runs a
// hive there that we may join; a missing one is good. Changes nothing. Errors: kDenied, kSystem.
[[nodiscard]] Result<void> check_directory(const HivePaths& paths);

// Checks that the members of a group can pass all directories above that of the hive. A directory
// that lets another group pass counts as passable, because we cannot know the members of both
// groups. Errors: kDenied with the one that they cannot pass, kSystem.
[[nodiscard]] Result<void> check_reachable(const HivePaths& paths, gid_t group);

// Owner and mode of the directory now. Errors: kSystem.
[[nodiscard]] Result<DirectoryAccess> directory_access(const HivePaths& paths);

// Lets the members of a group connect to `socket`, and reach it: a directory that they may pass
// already stays as it is. Errors: kSystem (EPERM: we are not a member of it).
[[nodiscard]] Result<void> admit_group(const HivePaths& paths, const std::string& socket,
                                       gid_t group);

// Undoes the change of admit_group() to the directory, also if an earlier call was killed half
// way. A directory that another program has changed since stays; being closed to all groups does
// not count as a change, because an earlier call may have left it so. Errors: kSystem. If we may
// not give it its old group again (EPERM: we are not a member) it is closed to all groups.
[[nodiscard]] Result<void> close_directory(const HivePaths& paths, const DirectoryOpening& opening);

// The group of that name or number. Errors: kInvalid.
[[nodiscard]] Result<gid_t> find_group(const std::string& name);

}  // namespace beeline::control
