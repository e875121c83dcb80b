#pragma once

#include <unistd.h>

#include <csignal>

#include "tests/killpoints/stepper.h"

namespace beeline::killpoints {

// Sends SIGKILL to itself after one instruction: no later one is retired. 0: never.
class Killer : public StepObserver {
 public:
  explicit Killer(std::uint64_t step) : step_(step) {}
  void after(std::uint64_t step, std::uintptr_t /*at*/) override {
    if (step == step_) ::kill(::getpid(), SIGKILL);
  }

 private:
  std::uint64_t step_;
};

}  // namespace beeline::killpoints
