#pragma once
// What this agent knows of the lives of its peers: where each is rung.

#include <memory>
#include <vector>

#include <beeline/result.h>

#include "src/os/fd.h"
#include "src/segment/foreign.h"
#include "src/wake/bell.h"

namespace beeline {

class Lives {
 public:
  // Accepts the status page and eventfd of a life, or finds them. Errors: kBadSegment, kVersion, kProtocol.
  [[nodiscard]] Result<wake::Bell> learn(std::uint32_t pid, std::uint64_t incarnation,
                                         os::UniqueFd status, os::UniqueFd event);
  // The bell of a life; page is null when it is not known.
  [[nodiscard]] wake::Bell find(std::uint32_t pid, std::uint64_t incarnation) const;
  // Forgets earlier lives of a pid. REQUIRES: no bell of theirs is in use any more.
  void forget_before(std::uint32_t pid, std::uint64_t incarnation);

 private:
  struct Life {
    std::uint32_t pid = 0;
    std::uint64_t incarnation = 0;
    segment::Foreign status;
    os::UniqueFd event;
    [[nodiscard]] wake::Bell bell() const {
      return {reinterpret_cast<const shm::StatusPage*>(status.data()), event.get()};
    }
  };
  std::vector<std::unique_ptr<Life>> lives_;
};

}  // namespace beeline
