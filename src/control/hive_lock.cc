#include "src/control/hive_lock.h"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "src/control/hive_holder.h"
#include "src/os/clock.h"
#include "src/os/error.h"
#include "src/os/event_fd.h"
#include "src/os/packet_socket.h"

namespace beeline::control {
namespace {

constexpr std::int64_t kPatienceNs = 5'000'000'000;
constexpr std::chrono::milliseconds kLookAgain{100};

/// A keeper that ends removes its files while it holds the lock; one that was waiting may then hold
/// a file that nobody will find.
bool is_current(const os::LockFile& lock, const std::string& path) {
  struct stat held {};
  struct stat named {};
  return ::fstat(lock.fd(), &held) == 0 && ::stat(path.c_str(), &named) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

tl::unexpected<Error> already_run(const HivePaths& paths) {
  const HiveHolder holder = read_holder(paths.lock).value_or(HiveHolder());
  return fail(ErrorCode::kAlreadyRunning,
              fmt::format("hive \"{}\" is already run by pid {} since {}", paths.hive, holder.pid,
                          holder.since));
}

}  // namespace

Result<os::LockFile> acquire_hive(const HivePaths& paths) {
  const os::UniqueFd watch(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!watch.valid()) return os::system_failure("cannot make an inotify");
  const std::int64_t end_ns = os::monotonic_ns() + kPatienceNs;
  for (;;) {
    // A keeper that ends removes the directory; make it again for each try.
    if (auto prepared = prepare_directory(paths); !prepared) {
      return tl::unexpected(std::move(prepared.error()));
    }
    // The holder renames its socket into place when it listens.
    (void)::inotify_add_watch(watch.get(), paths.directory.c_str(), IN_MOVED_TO | IN_DELETE);
    auto lock = os::LockFile::acquire(paths.lock);
    if (lock && is_current(*lock, paths.lock)) return lock;
    if (lock || lock.error().sys_errno == ENOENT) continue;
    if (lock.error().code != ErrorCode::kAlreadyRunning) return lock;
    const bool listens = os::PacketSocket::connect(paths.socket).has_value();
    if (listens || os::monotonic_ns() >= end_ns) return already_run(paths);
    (void)os::wait_readable(watch.get(), kLookAgain);
    std::array<char, 4096> events{};
    while (::read(watch.get(), events.data(), events.size()) > 0) {
    }
  }
}

}  // namespace beeline::control
