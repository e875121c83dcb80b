#pragma once

// The process that outlives coordinators. It holds the lock file, the listening socket and the
// table, forks the coordinator, reads what it wants kept, restarts it when it dies, and does
// nothing else: no JSON, no client, no segment.

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <beeline/result.h>

#include "src/control/coordinator.h"
#include "src/control/hive_paths.h"
#include "src/control/keeper_table.h"
#include "src/control/log.h"
#include "src/os/fd.h"
#include "src/os/lock_file.h"
#include "src/os/packet_socket.h"

namespace beeline::control {

struct KeeperOptions {
  HivePaths paths;
  CoordinatorOptions coordinator;
  std::uint64_t max_payload_bytes = 0;
  std::optional<gid_t> group;      ///< whose members may connect beside our own user; none: nobody
  std::function<void()> on_ready;  ///< called once, when the first coordinator serves
  std::function<void()> on_fork;   ///< called in each coordinator: closes what is the keeper's
};

/// One thread, and the process must have no other: it forks without exec.
class Keeper {
 public:
  /// Takes the lock and listens. Errors: kSystem, kInvalid (path of the socket).
  [[nodiscard]] static Result<Keeper> open(KeeperOptions options, os::LockFile lock);

  /// Keeps the hive until it goes down, then removes its files. Errors: kSystem; kClosed if the
  /// first coordinator ended before it served.
  [[nodiscard]] Result<void> run();

 private:
  Keeper(KeeperOptions options, os::LockFile lock)
      : options_(std::move(options)),
        lock_(std::move(lock)),
        log_(options_.coordinator.log_fd, options_.coordinator.log_path) {}

  /// Gives the directory back as it was before a hive that was killed; writes the lock file.
  Result<void> settle_directory();
  Result<void> listen();
  Result<void> start_coordinator();
  /// Tries until there is one again, or we are told to end: the hive stays whatever the machine
  /// lacks just now.
  void restart_coordinator();
  void wait_for_events();
  /// Reads all that the coordinator has said, of a dead one to its last word. Gives up only if we
  /// are told to end while the machine lacks what reading takes.
  void drain();
  void obey(std::string_view text, std::vector<os::UniqueFd> fds);
  void read_signal();
  Result<void> after_death();
  void end_child();
  void finish();
  void remove_files();

  KeeperOptions options_;
  os::LockFile lock_;
  std::optional<DirectoryOpening> opening_;  // what we may have done to the directory
  Log log_;
  HiveFacts facts_;
  os::PacketSocket listener_;
  os::PacketSocket socket_;  // to the coordinator
  os::UniqueFd signals_;
  os::UniqueFd child_pidfd_;
  pid_t child_ = 0;
  KeptTable table_;
  std::deque<std::int64_t> deaths_ns_;  // of coordinators that served nobody
  bool ready_ = false;                  // some coordinator has served
  bool served_ = false;                 // this one has answered a request
  bool quit_ = false;
  std::int64_t kill_at_ns_ = 0;  // told to end: when the coordinator's time is over
};

}  // namespace beeline::control
