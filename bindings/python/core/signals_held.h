#pragma once
// Sleep of a thread that wakes at signals.

#include <csignal>
#include <cstdint>

#include "bindings/python/core/python.h"

namespace beeline::python {

// Keeps the signals of this thread back, so that one that comes after PyErr_CheckSignals() still
// ends the sleep that follows.
class SignalsHeld {
 public:
  SignalsHeld();
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
  ~SignalsHeld();

  // Sleeps without the GIL until the descriptor is readable, a signal comes or the time is over; at
  // most a second, because the kernel may give a signal to another thread, and then nothing wakes
  // this one.
  void sleep(int descriptor, std::int64_t ns) const;

 private:
  sigset_t before_;
};

}  // namespace beeline::python
