#pragma once

// The files of a hive in use, as its keeper holds them: directory, lock, socket, log, state.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <beeline/result.h>

#include "src/control/hive_holder.h"
#include "src/control/hive_lock.h"
#include "src/control/hive_paths.h"
#include "src/control/log.h"
#include "src/os/directory_watch.h"
#include "src/os/fd.h"
#include "src/os/file_identity.h"
#include "src/os/packet_socket.h"

namespace beeline::control {

// Keeps the directory locked (flock, shared) and the socket bound under its own name, which is how
// systemd-tmpfiles and others know that files are in use. Makes files again that are removed
// nevertheless. Removes nothing that this hive does not own: each file is compared with the one
// that was opened or made. Not thread safe.
class HiveFiles {
 public:
  // Takes the lock and notes which files exist. Errors as acquire_hive().
  [[nodiscard]] static Result<HiveFiles> acquire(HivePaths paths, std::optional<gid_t> group);

  // Takes a socket that a service manager has bound and listens on: occupy() then makes none, and
  // the file of that socket is never removed.
  void adopt(os::UniqueFd listener) { given_ = std::move(listener); }
  // Gives the directory back as it was before a killed hive opened it, writes the lock file and
  // listens. `since` is when this hive started; `log` is the keeper's, of the file `log_path`.
  // Errors: kSystem, kInvalid (path of the socket).
  [[nodiscard]] Result<void> occupy(const std::string& since, Log& log, std::string log_path);

  // Checks that all files are there, makes missing ones again and logs that. True if the
  // coordinator must look too: it has a listener, a log or a state file of its own.
  [[nodiscard]] bool mend(Log& log);
  // next_look_ns(): when to call mend() at the latest (CLOCK_MONOTONIC). watch_fd(): readable when
  // a file came or went.
  [[nodiscard]] std::int64_t next_look_ns() const noexcept { return next_look_ns_; }
  [[nodiscard]] int watch_fd() const noexcept { return watch_.fd(); }
  // Takes the reports of watch_fd() and plans a look soon.
  void notice() noexcept;

  [[nodiscard]] os::PacketSocket& listener() noexcept { return listener_; }
  // True if the log outlives a start that fails.
  [[nodiscard]] bool log_stays() const;

  // The hive has ended in order: removes its files and, if it is empty then, the directory. The
  // log stays in place of the last hive's log.
  void remove(Log& log);
  // The start has failed: removes the files that this start has made, and nothing else.
  void leave_as_found();
  // In a child that serves: closes what only the keeper uses.
  void release() noexcept;

 private:
  HiveFiles(HivePaths paths, std::optional<gid_t> group, HiveClaim claim);

  [[nodiscard]] std::vector<std::string> all_paths() const;
  // True if this start found the file.
  [[nodiscard]] bool was_there(const std::string& path) const;
  [[nodiscard]] Result<void> settle_directory(Log& log);
  [[nodiscard]] Result<void> write_holder();
  [[nodiscard]] Result<void> listen();
  // The names of the files that are gone or replaced, separated by blanks.
  [[nodiscard]] std::string gone() const;
  [[nodiscard]] Result<void> restore();
  [[nodiscard]] Result<void> restore_access() const;
  void protect();
  void watch();
  void unlink_socket() const;
  void say(Log& log, std::string_view event, std::string text);

  HivePaths paths_;
  std::optional<gid_t> group_;
  os::LockFile lock_;
  std::string text_before_;                // of the lock file
  bool made_directory_ = false;            // by this start
  std::vector<std::string> there_before_;  // files of a hive that this start has found
  std::string since_;
  std::string log_path_;
  DirectoryAccess access_;                   // of the directory, before a group was admitted
  std::optional<DirectoryOpening> opening_;  // how we may have changed it
  std::vector<os::UniqueFd> directories_;    // those that we may make, each with a flock
  std::optional<os::FileIdentity> socket_;
  os::PacketSocket listener_;
  os::UniqueFd given_;  // a listener that was not used yet
  bool listener_is_given_ = false;
  os::DirectoryWatch watch_;
  bool watches_above_ = false;  // the directory is gone: the nearest one above it is watched
  std::int64_t next_look_ns_ = 0;
  std::int64_t mended_ns_ = 0;  // when a file was last found missing
  std::string said_;            // the last failure that was logged
};

}  // namespace beeline::control
