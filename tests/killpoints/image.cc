#include "tests/killpoints/image.h"

#include <algorithm>
#include <new>

#include "tests/killpoints/c_library.h"

namespace beeline::killpoints {

// Has room for more than it needs, because it must not allocate while it records. Untouched pages
// cost nothing.
StateRecorder::StateRecorder(const Image& image) : image_(image) {
  void* memory = ::mmap(nullptr, mapped_bytes(), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  book_ = new (memory) Book();
  memory_ = static_cast<std::byte*>(memory) + sizeof(Book);
  keep(0, 0, false);
}

StateRecorder::~StateRecorder() { ::munmap(book_, mapped_bytes()); }

void StateRecorder::after(std::uint64_t step, std::uintptr_t at) {
  const bool is_copy = is_c_library(next_);
  next_ = at;
  if (!is_copy) in_copy_ = false;
  if (image_.equals(bytes(book_->count - 1))) return;
  keep(step, at, in_copy_);
  in_copy_ = is_copy;
}

void StateRecorder::keep(std::uint64_t step, std::uintptr_t at, bool same_copy) {
  if (book_->count == kMostStates) {
    book_->overflowed = true;
    return;
  }
  State* const states = book_->states;
  if (book_->count != 0)
    states[book_->count - 1].steps = step - states[book_->count - 1].first_step;
  states[book_->count] = {step, 0, at, same_copy};
  image_.save(memory_ + book_->count * image_.bytes());
  ++book_->count;
}

void StateRecorder::finish(std::uint64_t steps) {
  State& last = book_->states[book_->count - 1];
  last.steps = steps + 1 - last.first_step;
  book_->steps = steps;
}

std::size_t StateRecorder::at_step(std::uint64_t step) const {
  std::size_t i = 0;
  while (i + 1 < count() && state(i + 1).first_step <= step) ++i;
  return i;
}

std::size_t StateRecorder::count_outside_copies() const {
  return static_cast<std::size_t>(
      std::count_if(book_->states, book_->states + book_->count,
                    [](const State& state) { return !state.same_copy; }));
}

}  // namespace beeline::killpoints
