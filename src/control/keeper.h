#pragma once

// The process that outlives coordinators. It holds the lock file, the listening socket and the
// table; forks the coordinator, keeps the records that it sends, and restarts it when it dies. It
// does nothing else: no JSON, no client, no segment.

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <beeline/result.h>

#include "src/control/coordinator.h"
#include "src/control/fd_store.h"
#include "src/control/hive_files.h"
#include "src/control/keeper_table.h"
#include "src/control/log.h"
#include "src/control/service_manager.h"
#include "src/control/steward_process.h"
#include "src/os/fd.h"
#include "src/os/packet_socket.h"

namespace beeline::control {

struct KeeperOptions {
  HivePaths paths;
  CoordinatorOptions coordinator;
  std::uint64_t max_payload_bytes = 0;
  std::function<void()> on_ready;     // called once, when the first coordinator serves
  std::function<void()> on_fork;      // called in each coordinator: closes the keeper's descriptors
  ServiceManager* manager = nullptr;  // is told when the hive serves, and keeps the table, too
};

// One thread, and the process must have no other: it forks without exec.
class Keeper {
 public:
  // Listens. `files` is borrowed for the life of the keeper. Errors: kSystem, kInvalid (path of
  // the socket).
  [[nodiscard]] static Result<Keeper> open(KeeperOptions options, HiveFiles& files);

  // Keeps the hive until it goes down, then removes its files. Errors: kSystem; kClosed with the
  // reason if the first coordinator ended before it served, and the files then stay as they are.
  [[nodiscard]] Result<void> run();

 private:
  Keeper(KeeperOptions options, HiveFiles& files)
      : options_(std::move(options)),
        files_(&files),
        log_(options_.coordinator.log_fd, options_.coordinator.log_path) {}

  Result<void> start_coordinator();
  // Tries until there is a coordinator again, or we are told to end: the hive stays whatever the
  // machine lacks just now.
  void restart_coordinator();
  void wait_for_events();
  // Repairs the files, and remembers to tell the coordinator if it has to know.
  void mend_files();
  // Hands the listener to the coordinator, which then checks its own files.
  void tell_files();
  // The error for a first coordinator that ended before it served. `status` as of waitpid().
  [[nodiscard]] Error early_end(int status) const;
  // Reads everything that the coordinator has sent, to the last word of a dead one. Gives up only
  // if we are told to end while the machine lacks something that reading needs.
  void drain();
  void obey(std::string_view text, std::vector<os::UniqueFd> fds);
  void read_signal();
  // Reaps adopted processes, and the steward.
  void reap();
  Result<void> after_death();
  void end_child();
  void finish();

  KeeperOptions options_;
  HiveFiles* files_;
  Log log_;
  HiveFacts facts_;
  os::PacketSocket socket_;  // to the coordinator
  os::UniqueFd signals_;
  os::UniqueFd ends_;  // a signalfd that tells of ends of children
  StewardProcess steward_;
  os::UniqueFd child_pidfd_;
  pid_t child_ = 0;
  KeptTable table_;
  std::optional<FdStore> store_;        // if a service manager keeps descriptors
  std::string last_words_;              // of the first coordinator, if it could not serve
  std::deque<std::int64_t> deaths_ns_;  // when coordinators died that served no client
  bool ready_ = false;                  // some coordinator has served
  bool served_ = false;                 // the current coordinator has answered a request
  bool quit_ = false;
  std::int64_t tell_at_ns_ = 0;  // when to tell the coordinator of files; 0: it knows
  bool is_untold_ = false;       // the last attempt to tell it failed
  std::int64_t kill_at_ns_ = 0;  // told to end: when the coordinator is killed
};

}  // namespace beeline::control
