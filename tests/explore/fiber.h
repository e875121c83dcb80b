#pragma once
// A model thread: a function on a stack of its own that runs until it leaves. It is abandoned at
// its place if an execution ends early, so it must own nothing that needs a destructor.

#include <ucontext.h>

#include <functional>
#include <memory>

namespace beeline::explore {

class Fiber {
 public:
  Fiber();
  // Starts anew. `body` must end in leave() and outlive the run.
  void prepare(const std::function<void()>& body);
  // From outside: runs until the fiber leaves.
  void enter();
  // From inside: back to the caller of enter().
  void leave();

 private:
  static void start(unsigned high, unsigned low);

  static constexpr std::size_t kStackBytes = std::size_t{128} << 10;
  std::unique_ptr<std::byte[]> stack_;
  ucontext_t inside_{};
  ucontext_t outside_{};
  const std::function<void()>* body_ = nullptr;
};

}  // namespace beeline::explore
