#pragma once
// Stops an operation in the middle, at as many instructions as one likes, and lets it go on.
//
// One process, the walker, steps through the operation. Wherever it is to stop, it forks: the
// child, which has the same registers, stack, heap and segments, stands still there while the other
// end runs from start to end, then goes on itself and says whether all is well. The walker waits
// for it, puts the bytes of the segments back and retires the next instruction. So a stop costs one
// fork, however long the way to it is, and no stop can miss its place.

#include <string>
#include <vector>

#include "tests/killpoints/image.h"
#include "tests/killpoints/shared.h"
#include "tests/killpoints/sweep.h"

namespace beeline::killpoints {

class Stopper : public StepObserver {
 public:
  // `all`: what either end can write. Violations go into `tally`, under this name and kind.
  Stopper(const Image& all, std::string name, const char* kind, Tally& tally);

  void start() final;
  void after(std::uint64_t step, std::uintptr_t at) final;
  void finish(std::uint64_t steps) final;

  // Whether this process is a child, and its operation has come to its end.
  [[nodiscard]] bool was_stopped() const { return is_child_; }
  // Of such a child: ends it, with what `judge` finds wrong.
  [[noreturn]] void end(const std::function<std::string()>& judge);

 protected:
  // In the walker, after each instruction (0: before the first one): whether to stop there. In the
  // handler: no allocation, no lock.
  virtual bool is_chosen(std::uint64_t step, std::uintptr_t at) = 0;
  // Outside of the handler, after the last one: whether to stop there once more.
  virtual bool is_chosen_at_end() { return false; }
  // In the child, in the handler: the other end runs.
  virtual void run_other_end() = 0;
  // In the walker, around each child: what is shared and no segment.
  virtual void before_child() {}
  virtual void after_child() {}

 private:
  void consider(std::uint64_t step, std::uintptr_t at);
  void stop(std::uint64_t step, std::uintptr_t at);
  void note_end(int status, std::uint64_t step, std::uintptr_t at);

  struct Verdict {
    char wrong[320] = {};
  };

  Image all_;
  std::string name_;
  const char* kind_;
  Tally& tally_;
  std::vector<std::byte> kept_;
  Shared<Verdict> verdict_;
  std::string failed_;  // of the other end
  bool is_child_ = false;
};

}  // namespace beeline::killpoints
