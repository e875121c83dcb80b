#include "src/wake/bell_set.h"

#include <algorithm>
#include <array>
#include <utility>

#include "src/os/event_fd.h"
#include "src/os/joint_fd.h"

namespace beeline::wake {

Result<BellSet> BellSet::create() {
  BellSet set;
  auto own = os::create_event_fd();
  if (!own) return tl::unexpected(own.error());
  auto joint = os::create_joint_fd();
  if (!joint) return tl::unexpected(joint.error());
  if (auto added = os::add_to_joint(joint->get(), own->get()); !added) {
    return tl::unexpected(added.error());
  }
  set.own_ = std::move(*own);
  set.joint_ = std::move(*joint);
  return set;
}

void BellSet::add(std::uint32_t pid, std::uint64_t incarnation, os::UniqueFd event) {
  const bool known = std::any_of(foreign_.begin(), foreign_.end(), [&](const Foreign& each) {
    return each.incarnation == incarnation;
  });
  if (known) return;
  foreign_.push_back({pid, incarnation, std::move(event), false});
  join(foreign_.back());
  complete_ = complete_ && foreign_.back().joined;
}

void BellSet::join(Foreign& foreign) {
  if (foreign.joined) return;
  foreign.joined = os::add_to_joint(joint_.get(), foreign.event.get()).has_value();
}

void BellSet::leave(const Foreign& foreign) const {
  if (foreign.joined) os::remove_from_joint(joint_.get(), foreign.event.get());
}

bool BellSet::complete() {
  if (complete_) return true;
  for (Foreign& each : foreign_) join(each);
  complete_ = std::all_of(foreign_.begin(), foreign_.end(),
                          [](const Foreign& each) { return each.joined; });
  return complete_;
}

Result<void> BellSet::watch(int fd) { return os::add_to_joint(joint_.get(), fd); }

void BellSet::signal_self() const { os::signal_event(own_.get()); }

void BellSet::drain() const {
  if (!has_foreign()) {
    os::drain_event(own_.get());
    return;
  }
  // What does not fit makes the next wait end at once.
  std::array<int, 32> ready{};
  const std::size_t count = os::ready_in_joint(joint_.get(), ready);
  for (std::size_t i = 0; i < count; ++i) os::drain_event(ready[i]);
}

}  // namespace beeline::wake
