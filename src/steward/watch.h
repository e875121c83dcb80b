#pragma once

// The descriptors that the steward waits for.

#include <cstdint>
#include <vector>

#include <beeline/result.h>

#include "src/os/fd.h"

namespace beeline::steward {

enum class Source : std::uint8_t { kAgent, kKing, kKeeper, kTimer, kProcess, kLink };

class Watch {
 public:
  // Errors: kSystem.
  [[nodiscard]] static Result<Watch> open();

  // `number` is the child's for kProcess and kLink. The descriptor stays the caller's.
  void add(int fd, Source source, std::int64_t number = 0);
  void remove(int fd);

  struct Event {
    Source source = Source::kAgent;
    std::int64_t number = 0;
  };
  // Waits for events, at most a number of them.
  [[nodiscard]] const std::vector<Event>& wait();

 private:
  explicit Watch(os::UniqueFd fd) : fd_(std::move(fd)) {}
  os::UniqueFd fd_;
  std::vector<Event> events_{};
};

}  // namespace beeline::steward
