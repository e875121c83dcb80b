#pragma once
// The hive's directory as the coordinator publishes it, and the place of this agent in it.

#include <cstdint>
#include <utility>

#include "shm/directory.h"
#include "src/segment/foreign.h"

namespace beeline {

// One thread.
class Directory {
 public:
  // Maps what the coordinator has given. Errors: kBadSegment, kWrongVersion, kSystem.
  [[nodiscard]] static Result<segment::Foreign> accept(os::UniqueFd fd);

  // A new coordinator has a new directory. Everything that refers to the old one lets go before.
  void replace(segment::Foreign memory, std::uint32_t index) {
    memory_ = std::move(memory);
    view_ = shm::DirectoryView(memory_.data());
    index_ = index;
  }
  [[nodiscard]] const shm::DirectoryView& view() const { return view_; }
  // The index of our own place.
  [[nodiscard]] std::uint32_t index() const { return index_; }

 private:
  segment::Foreign memory_;
  shm::DirectoryView view_;
  std::uint32_t index_ = 0;
};

}  // namespace beeline
