// What one child sent to another, as their parent sees it: the first to go when room is short.

#include <cstring>

#include "shm/extension.h"
#include "src/receive/receiver.h"

namespace beeline::receive {

// A copy is what a child shows of what it has sent itself.
bool Receiver::may_show(const InLink& link, const shm::SlotCopy& copy) {
  if (link.relation != Relation::kChild || shm::extension_bytes(copy.header) == 0) return false;
  shm::Extension extension;
  std::memcpy(&extension, copy.payload, sizeof(extension));
  return shm::pid_of_message(extension.cause) == link.owner_pid;
}

// True when there were any.
bool Receiver::drop_copies() {
  constexpr std::size_t kMost = 32;  // at a time
  std::vector<std::uint32_t> copies;
  home_->inbox().index().for_each([&](const shm::IndexNode& node) {
    if (is_copy(entry(node.entry()).header)) copies.push_back(node.entry());
    return copies.size() < kMost;
  });
  for (const std::uint32_t at : copies) {
    home_->inbox().take(at);
    drop_copy(at);
  }
  return !copies.empty();
}

// REQUIRES: it is leased.
void Receiver::drop_copy(std::uint32_t at) {
  add_one(home_->home().control().counters.copies_dropped);
  done(at);
}

}  // namespace beeline::receive
