#pragma once

// The times at which the buffer has to do something.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace beeline::buffer {

enum class Duty : std::uint8_t {
  kRoute,  // the window of the router is over
  kPost,   // letters that found no room are tried again
  kTakes,  // the wait of a buffer.take is over
  kAgain,  // changes that failed are tried again
  kTasks,  // tasks that were postponed are tried again
  kJobs,   // a job may be due
  kPrune,  // a day has passed
  kCount,
};

// Times are nanoseconds of os::monotonic_ns().
class Alarms {
 public:
  // Replaces the earlier time of this duty.
  void set(Duty duty, std::int64_t at_ns) {
    times_[index_of(duty)] = std::max<std::int64_t>(at_ns, 1);
  }
  void clear(Duty duty) { times_[index_of(duty)] = 0; }
  [[nodiscard]] bool is_set(Duty duty) const { return times_[index_of(duty)] != 0; }
  // The next time; 0: nothing is due ever.
  [[nodiscard]] std::int64_t next() const {
    std::int64_t next = 0;
    for (const std::int64_t at : times_) {
      if (at != 0 && (next == 0 || at < next)) next = at;
    }
    return next;
  }
  // Takes the duties whose time has come.
  [[nodiscard]] std::vector<Duty> take_due(std::int64_t now_ns) {
    std::vector<Duty> due;
    for (std::size_t i = 0; i < times_.size(); ++i) {
      if (times_[i] == 0 || times_[i] > now_ns) continue;
      times_[i] = 0;
      due.push_back(static_cast<Duty>(i));
    }
    return due;
  }

 private:
  static constexpr std::size_t index_of(Duty duty) { return static_cast<std::size_t>(duty); }
  std::array<std::int64_t, static_cast<std::size_t>(Duty::kCount)> times_{};
};

}  // namespace beeline::buffer
