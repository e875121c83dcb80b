#pragma once
// Stops an operation in the middle, at any number of instructions, and lets it go on.
//
// One process, the walker, steps through the operation. At each place to stop it forks. The child
// has
// the same registers, stack, heap and segments. It stands still while the other end runs from start
// to end, then goes on itself and reports whether all is well. The walker waits for it, restores
// the
// bytes of the segments and retires the next instruction. So a stop costs one fork, however long
// the
// way to it is, and no stop can miss its place.

#include <string>
#include <vector>

#include "tests/killpoints/image.h"
#include "tests/killpoints/shared.h"
#include "tests/killpoints/sweep.h"

namespace beeline::killpoints {

class Stopper : public StepObserver {
 public:
  // `all`: the memory that either end can write. Violations go into `tally`, under this name and
  // kind.
  Stopper(const Image& all, std::string name, const char* kind, Tally& tally);

  void start() final;
  void after(std::uint64_t step, std::uintptr_t at) final;
  void finish(std::uint64_t steps) final;

  // Whether this process is a child, and its operation has come to its end.
  [[nodiscard]] bool was_stopped() const { return is_child_; }
  // Ends such a child with the finding of `judge`.
  [[noreturn]] void end(const std::function<std::string()>& judge);

 protected:
  // In the walker, after each instruction (0: before the first one): whether to stop there. Runs in
  // the handler: no allocation, no lock.
  virtual bool is_chosen(std::uint64_t step, std::uintptr_t at) = 0;
  // Outside of the handler, after the last one: whether to stop there once more.
  virtual bool is_chosen_at_end() { return false; }
  // In the child, in the handler: runs the other end.
  virtual void run_other_end() = 0;
  // In the walker, before each child: saves shared state outside of segments.
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
