#pragma once
// The tasks that wait: messages of the parent that lie in the table and in no order of the inbox.

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string_view>

#include "src/receive/entries.h"
#include "src/receive/rank.h"

namespace beeline::receive {

class TaskQueue {
 public:
  explicit TaskQueue(const Entries& entries) : entries_(entries) {}

  // Whether this agent does tasks at all.
  void accept(bool wanted) { accepts_ = wanted; }

  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  [[nodiscard]] std::size_t size() const { return waiting_.size(); }
  [[nodiscard]] const std::deque<shm::EntryIndex>& waiting() const { return waiting_; }
  // The one to be done next. REQUIRES: !empty().
  [[nodiscard]] shm::EntryIndex first() const { return waiting_.front(); }

  // Puts it behind those of its rank that came before.
  void add(shm::EntryIndex at) {
    if (waiting_.empty() || !goes_before(at, waiting_.back())) return waiting_.push_back(at);
    const auto place = std::upper_bound(
        waiting_.begin(), waiting_.end(), at,
        [this](shm::EntryIndex a, shm::EntryIndex b) { return goes_before(a, b); });
    waiting_.insert(place, at);
  }
  // Does nothing if it is not here.
  void remove(shm::EntryIndex at) {
    if (!waiting_.empty() && waiting_.front() == at) return waiting_.pop_front();
    std::erase(waiting_, at);
  }

  // Why this agent does not do a task that has come; empty where it does.
  [[nodiscard]] std::string_view why_not(shm::EntryIndex at) const {
    const InLink* const link = entries_.link_of(at);
    if (link == nullptr || !may_execute(link->relation())) return kNotOwnChild;
    if (!accepts_) return "the agent has no task handler";
    if (size() > most_tasks(entries_.table().capacity())) return "too many tasks wait already";
    return {};
  }

 private:
  // A quarter of the table.
  [[nodiscard]] static constexpr std::size_t most_tasks(std::uint32_t capacity) {
    return capacity / 4;
  }
  [[nodiscard]] bool goes_before(shm::EntryIndex a, shm::EntryIndex b) const {
    const shm::Entry& first = entries_.entry(a);
    const shm::Entry& second = entries_.entry(b);
    if (first.header.rank != second.header.rank) return first.header.rank < second.header.rank;
    return first.arrival < second.arrival;
  }

  const Entries& entries_;
  std::deque<shm::EntryIndex> waiting_;
  bool accepts_ = false;
};

}  // namespace beeline::receive
