#pragma once

// The times at which the steward has to do something.

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace beeline::steward {

// A duty with a time. Each kind is about a child or a job of this number.
enum class Duty : std::uint8_t {
  kReady,    // the child must have attached
  kTerm,     // the child gets SIGTERM
  kKill,     // the child gets SIGKILL
  kRestart,  // the child is started again
  kForget,   // the coordinator forgets the child
  kWait,     // the wait of a hive.wait is over
  kTrim,     // the output of all children is bounded
  kTidy,     // old ends leave the store
  kLetters,  // letters that found no room are tried again
  kKing,     // the connection to the coordinator is made again
  kList,     // the list of all agents is asked for again
  kEnd,      // the tree must have ended
};

// Times are nanoseconds of os::monotonic_ns().
class Alarms {
 public:
  using Key = std::pair<Duty, std::int64_t>;

  // Replaces the earlier time of this duty.
  void set(Duty duty, std::int64_t number, std::int64_t at_ns) {
    clear(duty, number);
    times_[{duty, number}] = at_ns;
    order_.emplace(at_ns, Key{duty, number});
  }
  void clear(Duty duty, std::int64_t number) {
    const auto found = times_.find({duty, number});
    if (found == times_.end()) return;
    order_.erase({found->second, found->first});
    times_.erase(found);
  }
  [[nodiscard]] bool is_set(Duty duty, std::int64_t number) const {
    return times_.contains({duty, number});
  }
  // The next time; 0: nothing is due ever.
  [[nodiscard]] std::int64_t next() const { return order_.empty() ? 0 : order_.begin()->first; }
  // Takes the duties whose time has come, the oldest first.
  [[nodiscard]] std::vector<Key> take_due(std::int64_t now_ns) {
    std::vector<Key> due;
    while (!order_.empty() && order_.begin()->first <= now_ns) {
      due.push_back(order_.begin()->second);
      times_.erase(due.back());
      order_.erase(order_.begin());
    }
    return due;
  }

 private:
  std::map<Key, std::int64_t> times_;
  std::set<std::pair<std::int64_t, Key>> order_;
};

}  // namespace beeline::steward
