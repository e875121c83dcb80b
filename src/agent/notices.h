#pragma once
// Notices for the user, beside messages: a child has died, the hive goes down.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include <beeline/agent.h>

#include "src/control/client.h"

namespace beeline {

// One thread.
class Notices {
 public:
  // A user that reads none keeps the newest.
  void add(Notice notice);
  // The same, once for each life of a child.
  void add_death(const control::DiedAnnouncement& died);
  [[nodiscard]] std::optional<Notice> next();
  [[nodiscard]] bool empty() const { return notices_.empty(); }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  // A notice waits that the fd of the user was not made readable for.
  [[nodiscard]] bool has_untold() const { return notices_.size() > told_; }
  void note_told() { told_ = notices_.size(); }

 private:
  static constexpr std::size_t kMost = 256;

  std::deque<Notice> notices_;
  std::uint64_t dropped_ = 0;
  std::size_t told_ = 0;                                    // so many of them, from the front
  std::deque<std::pair<Pid, shm::Incarnation>> told_ends_;  // lives of children, the newest last
};

}  // namespace beeline
