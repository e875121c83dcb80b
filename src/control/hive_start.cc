#include "src/control/hive_start.h"

#include <algorithm>

#include <fmt/format.h>

#include "src/control/hive_holder.h"
#include "src/control/hive_place.h"
#include "src/control/starter.h"
#include "src/os/clock.h"
#include "src/os/event_fd.h"
#include "src/os/lock_file.h"

namespace beeline::control {
namespace {

constexpr std::chrono::milliseconds kPatience{2000};  // with a keeper that does not listen yet
// The wait when we may not see if there is a keeper.
constexpr std::chrono::milliseconds kShortPatience{50};
constexpr std::chrono::milliseconds kLookAgain{2};

// Connects to the hive, and waits a while for a keeper that is about to listen: one that holds the
// lock and does not listen. A keeper binds its socket before it listens, and makes a removed one
// again.
Result<os::PacketSocket> connect_patiently(const HivePaths& paths,
                                           std::chrono::nanoseconds patience) {
  const std::int64_t start_ns = os::monotonic_ns();
  for (;;) {
    auto socket = connect_to_hive(paths);
    if (socket || socket.error().code != ErrorCode::kNoCoordinator) return socket;
    const auto held = os::LockFile::is_held(paths.lock);
    if (held && !*held) return socket;
    const std::int64_t most_ns =
        std::chrono::nanoseconds(held ? kPatience : kShortPatience).count();
    if (os::monotonic_ns() - start_ns >= std::min(most_ns, patience.count())) return socket;
    (void)os::wait_readable(-1, kLookAgain);
  }
}

// The error that says why no process listens.
tl::unexpected<Error> nobody_listens(const HivePaths& paths) {
  const auto held = os::LockFile::is_held(paths.lock);
  if (held && *held) {
    const HiveHolder holder = read_holder(paths.lock).value_or(HiveHolder());
    return fail(ErrorCode::kNoCoordinator,
                fmt::format("hive \"{}\" is run by process {} since {}, which does not listen at "
                            "{}: if it is stopped, continue it (kill -CONT {}), else end it and "
                            "run `beeline up`",
                            paths.hive, holder.pid, holder.since, paths.socket, holder.pid));
  }
  const std::string log = last_log(paths.directory);
  return fail(
      ErrorCode::kNoCoordinator,
      fmt::format("no coordinator of hive \"{}\" listens at {}: run `beeline up`{}", paths.hive,
                  paths.socket, log.empty() ? "" : "; the log of the last hive there is " + log));
}

}  // namespace

Result<os::PacketSocket> connect_or_start(const HivePaths& paths, Starting& starting,
                                          std::chrono::nanoseconds patience) {
  auto socket = connect_patiently(paths, patience);
  if (socket || socket.error().code != ErrorCode::kNoCoordinator) return socket;
  if (starting.wanted) {
    const auto ours = start_coordinator(paths, starting.deadline);
    if (!ours) return tl::unexpected(ours.error());
    starting.was_done = starting.was_done || *ours;
    socket = connect_patiently(paths, patience);
    if (socket || socket.error().code != ErrorCode::kNoCoordinator) return socket;
  }
  return nobody_listens(paths);
}

}  // namespace beeline::control
