#pragma once
// Whether the coordinator has told us something that was not read yet: one load, no system call.

#include <cstdint>

#include "shm/directory.h"

namespace beeline {

// One thread.
class News {
 public:
  // The counts of our place in a directory that is new to us. They are not owned.
  void watch(const shm::PacketCounts& counts) {
    counts_ = &counts;
    read_ = waited_for_ = 0;
  }
  // SYNC(directory.packets): acquire, pairs with DirectorySegment::count_due(). A packet that was
  // counted before the caller was told of it lies in the socket, or is about to.
  [[nodiscard]] bool any() const { return counts_->due.observe() != read_; }
  struct Taken {
    const shm::PacketCounts* counts;
    std::uint64_t number;
  };
  // So many of the due packets lie in the socket: a read from now on gets them all.
  // SYNC(directory.packets): acquire, pairs with DirectorySegment::count_taken().
  [[nodiscard]] Taken taken() const { return {counts_, counts_->taken.observe()}; }
  // All of those were read, if the directory is still the same.
  void note_read(const Taken& taken) {
    if (taken.counts == counts_) read_ = taken.number;
  }
  // There will be no more of it: the connection has ended.
  void note_all_read() { read_ = counts_->due.relaxed_load(); }
  // True for the first caller that wants to wait for the packets that are due now.
  [[nodiscard]] bool may_wait() {
    const std::uint64_t due =
        counts_->due.relaxed_load();  // relaxed: nothing is read because of it
    if (due == waited_for_) return false;
    waited_for_ = due;
    return true;
  }

 private:
  const shm::PacketCounts* counts_ = nullptr;
  std::uint64_t read_ = 0;
  std::uint64_t waited_for_ = 0;
};

}  // namespace beeline
