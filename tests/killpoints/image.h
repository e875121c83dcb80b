#pragma once
// The bytes of shared memory that a sweep compares, keeps and restores.

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include "tests/killpoints/stepper.h"

namespace beeline::killpoints {

struct Range {
  std::byte* at = nullptr;
  std::size_t bytes = 0;
};

// Pieces of segments in a fixed order, as one row of bytes.
class Image {
 public:
  void add(std::byte* at, std::size_t bytes) {
    ranges_.push_back({at, bytes});
    bytes_ += bytes;
  }
  void add(const Image& other) {
    for (const Range& range : other.ranges_) add(range.at, range.bytes);
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  void save(std::byte* to) const {
    for (const Range& range : ranges_) {
      std::memcpy(to, range.at, range.bytes);
      to += range.bytes;
    }
  }
  void load(const std::byte* from) const {
    for (const Range& range : ranges_) {
      std::memcpy(range.at, from, range.bytes);
      from += range.bytes;
    }
  }
  [[nodiscard]] bool equals(const std::byte* saved) const {
    for (const Range& range : ranges_) {
      if (std::memcmp(range.at, saved, range.bytes) != 0) return false;
      saved += range.bytes;
    }
    return true;
  }
  [[nodiscard]] std::vector<std::byte> saved() const {
    std::vector<std::byte> bytes(bytes_);
    save(bytes.data());
    return bytes;
  }

 private:
  std::vector<Range> ranges_;
  std::size_t bytes_ = 0;
};

// One state of the memory and the instructions after which it stood: from `first_step` (0: before
// the first instruction) to the one before the next state's.
struct State {
  std::uint64_t first_step = 0;
  std::uint64_t steps = 0;  // how many
  std::uintptr_t at = 0;    // the first of them led to this address
  // The C library has stored it, and the state before, in one call: the processor decides how many
  // states a copy has.
  bool same_copy = false;
};

// Checks after each instruction whether the image has changed, and keeps each state. It lies in
// memory that a child shares with its parent: either may record, and both can read.
class StateRecorder : public StepObserver {
 public:
  static constexpr std::size_t kMostStates = 1024;

  // Starts with the present state.
  explicit StateRecorder(const Image& image);
  ~StateRecorder() override;
  StateRecorder(const StateRecorder&) = delete;
  StateRecorder& operator=(const StateRecorder&) = delete;

  void after(std::uint64_t step, std::uintptr_t at) override;
  void finish(std::uint64_t steps) override;

  [[nodiscard]] std::size_t count() const { return book_->count; }
  // The same, with a copy by the C library counted as one.
  [[nodiscard]] std::size_t count_outside_copies() const;
  [[nodiscard]] std::uint64_t steps() const { return book_->steps; }
  [[nodiscard]] const State& state(std::size_t i) const { return book_->states[i]; }
  [[nodiscard]] const std::byte* bytes(std::size_t i) const { return memory_ + i * image_.bytes(); }
  // The state that stood after `step` instructions.
  [[nodiscard]] std::size_t at_step(std::uint64_t step) const;
  [[nodiscard]] bool overflowed() const { return book_->overflowed; }

 private:
  struct Book {
    std::size_t count = 0;
    std::uint64_t steps = 0;
    bool overflowed = false;
    State states[kMostStates];
  };
  void keep(std::uint64_t step, std::uintptr_t at, bool same_copy);
  [[nodiscard]] std::size_t mapped_bytes() const {
    return sizeof(Book) + kMostStates * image_.bytes();
  }

  Image image_;
  Book* book_;
  std::byte* memory_;        // behind the book
  std::uintptr_t next_ = 0;  // the next instruction to retire
  bool in_copy_ = false;     // the C library has stored, and has not returned
};

}  // namespace beeline::killpoints
