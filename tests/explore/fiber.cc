#include "tests/explore/fiber.h"

#include <cstdint>

namespace beeline::explore {

Fiber::Fiber() : stack_(new std::byte[kStackBytes]) {}

void Fiber::prepare(const std::function<void()>& body) {
  body_ = &body;
  getcontext(&inside_);
  inside_.uc_stack.ss_sp = stack_.get();
  inside_.uc_stack.ss_size = kStackBytes;
  inside_.uc_link = nullptr;
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  makecontext(&inside_, reinterpret_cast<void (*)()>(&Fiber::start), 2,
              static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
}

void Fiber::enter() { swapcontext(&outside_, &inside_); }

void Fiber::leave() { swapcontext(&inside_, &outside_); }

// makecontext passes ints only.
void Fiber::start(unsigned high, unsigned low) {
  const auto self = static_cast<std::uintptr_t>(high) << 32 | low;
  (*reinterpret_cast<Fiber*>(self)->body_)();
}

}  // namespace beeline::explore
