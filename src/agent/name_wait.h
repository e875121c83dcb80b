#pragma once
// The wait for an agent of a name that is not there yet. The coordinator is asked to say when one
// attaches; what it does not say, since it was restarted for example, is looked up in the directory
// after a pause that grows.

#include <chrono>
#include <cstdint>
#include <string_view>

#include "src/agent/directory.h"
#include "src/agent/own_life.h"
#include "src/control/client.h"
#include "src/os/fd.h"

namespace beeline {

class Announcements;
class Names;
class Sleeper;

class NameWait {
 public:
  struct Needs {
    OwnLife& life;
    const Directory& directory;
    control::Client& client;
    Announcements& announcements;
    Names& names;
    Sleeper& sleeper;
  };
  // `name` outlives it.
  NameWait(const Needs& needs, std::string_view name, Deadline deadline)
      : with_(needs), name_(name), deadline_(deadline) {}
  NameWait(const NameWait&) = delete;
  NameWait& operator=(const NameWait&) = delete;
  ~NameWait();

  [[nodiscard]] Result<Peer> run(const WaitOptions& options);

 private:
  static constexpr std::int64_t kShortestPause = 10'000'000;
  static constexpr std::int64_t kLongestPause = 1'000'000'000;

  [[nodiscard]] Result<void> watch(const WaitOptions& options);
  [[nodiscard]] Result<Peer> look();
  // Another look may find it.
  [[nodiscard]] bool may_still_come(const Error& error) const;
  [[nodiscard]] bool has_process() const;
  void ask();
  // For the predicate of the wait: a look may find more than the last one.
  [[nodiscard]] bool is_worth_a_look();
  [[nodiscard]] bool is_stopped() const;
  [[nodiscard]] bool process_has_ended() const;
  [[nodiscard]] tl::unexpected<Error> ended(ErrorCode code, std::string why) const;

  Needs with_;
  std::string_view name_;
  Deadline deadline_;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  std::int32_t process_ = 0;
  os::UniqueFd pidfd_;  // of the process; none where that was gone already
  int stop_fd_ = -1;
  // As they were when the last look began.
  std::uint64_t heard_ = 0;
  std::uint64_t epoch_ = 0;
  std::uint64_t asked_heard_ = 0;  // the same when the coordinator was asked last
  std::int64_t pause_ns_ = kShortestPause;
  std::int64_t next_look_ns_ = 0;
};

}  // namespace beeline
