#include "src/control/hive_lock.h"

#include <unistd.h>

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "src/control/hive_holder.h"
#include "src/os/clock.h"
#include "src/os/directory_watch.h"
#include "src/os/event_fd.h"
#include "src/os/packet_socket.h"

namespace beeline::control {
namespace {

constexpr std::int64_t kPatienceNs = 5'000'000'000;
constexpr std::chrono::milliseconds kLookAgain{100};

tl::unexpected<Error> already_run(const HivePaths& paths) {
  const HiveHolder holder = read_holder(paths.lock).value_or(HiveHolder());
  return fail(ErrorCode::kAlreadyRunning,
              fmt::format("hive \"{}\" in {} is already run by pid {} since {}", paths.hive,
                          paths.directory, holder.pid, holder.since));
}

}  // namespace

Result<HiveClaim> acquire_hive(const HivePaths& paths) {
  os::DirectoryWatch watch;
  const std::int64_t end_ns = os::monotonic_ns() + kPatienceNs;
  HiveClaim claim;
  for (;;) {
    // A keeper that ends removes the directory; make it again for each try.
    claim.made_directory |= ::access(paths.directory.c_str(), F_OK) != 0;
    if (auto prepared = prepare_directory(paths); !prepared) {
      return tl::unexpected(std::move(prepared.error()));
    }
    // The holder makes its socket a moment before it listens.
    (void)watch.add(paths.directory);
    auto lock = os::LockFile::acquire(paths.lock);
    if (lock) {
      claim.lock = std::move(*lock);
      claim.text_before = os::LockFile::read_text(paths.lock).value_or("");
      return claim;
    }
    if (lock.error().sys_errno == ENOENT) continue;
    if (lock.error().code != ErrorCode::kAlreadyRunning) {
      return tl::unexpected(std::move(lock.error()));
    }
    const bool listens = os::PacketSocket::connect(paths.socket).has_value();
    if (listens || os::monotonic_ns() >= end_ns) return already_run(paths);
    (void)os::wait_readable(watch.fd(), kLookAgain);
    (void)watch.drain();
  }
}

}  // namespace beeline::control
