#pragma once
// Runs a piece of this program one instruction at a time. With the trap flag set, the processor
// raises SIGTRAP after each one, and the handler runs on a stack of its own in this process. The
// stepped code is bit for bit the code that would run otherwise.

#include <cstdint>

namespace beeline::killpoints {

// Called after each instruction, in the signal handler: no allocation, no lock. `step` counts from
// 1; `at` is the address of the next instruction.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  // Before the first one, outside of the handler.
  virtual void start() {}
  virtual void after(std::uint64_t step, std::uintptr_t at) = 0;
  // After the last one, outside of the handler.
  virtual void finish(std::uint64_t /*steps*/) {}
};

// From within after(): runs the rest without steps.
void stop_stepping();

// Installs handler and stack for this process and the children that it forks. Call it once.
void install_stepper();

// Steps through `call(context)` and returns the number of instructions.
std::uint64_t step_through(void (*call)(void*), void* context, StepObserver& observer);

}  // namespace beeline::killpoints
