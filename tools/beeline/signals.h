#pragma once

#include <initializer_list>
#include <optional>

#include <signal.h>

#include <beeline/result.h>

#include "src/os/fd.h"

namespace beeline::cli {

// Signals as readable events: they are blocked in this process and read from a descriptor, so no
// handler ever runs. Only one object at a time; its destructor restores the mask. Programs started
// with os::spawn() get an empty mask.
class Signals {
 public:
  struct Taken {
    int number = 0;
    bool from_terminal = false;  // the kernel sent it to the whole foreground group
  };

  // Errors: kSystem.
  [[nodiscard]] static Result<Signals> block(std::initializer_list<int> numbers);

  Signals(Signals&& other) noexcept;
  Signals& operator=(Signals&&) = delete;
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals();

  // Readable while a signal waits.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  // The next signal, if one waits. Does not block.
  [[nodiscard]] std::optional<Taken> take() noexcept;

 private:
  Signals() = default;

  os::UniqueFd fd_;
  sigset_t before_{};
};

}  // namespace beeline::cli
