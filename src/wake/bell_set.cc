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

void BellSet::add(shm::Incarnation incarnation, os::UniqueFd event) {
  const auto [place, added] = foreign_.try_emplace(incarnation);
  if (!added) return;
  place->second.event = std::move(event);
  join(place->second);
  complete_ = complete_ && place->second.joined;
}

void BellSet::forget(shm::Incarnation incarnation) {
  const auto found = foreign_.find(incarnation);
  if (found == foreign_.end()) return;
  leave(found->second);
  foreign_.erase(found);
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
  for (auto& [incarnation, each] : foreign_) join(each);
  complete_ = std::all_of(foreign_.begin(), foreign_.end(),
                          [](const auto& each) { return each.second.joined; });
  return complete_;
}

Result<void> BellSet::watch(int fd) { return os::add_to_joint(joint_.get(), fd); }

Result<void> BellSet::invite(int fd) {
  if (auto added = watch(fd); !added) return added;
  guests_.push_back(fd);
  return {};
}

void BellSet::dismiss(int fd) {
  if (std::erase(guests_, fd) != 0) os::remove_from_joint(joint_.get(), fd);
}

void BellSet::signal_self() const { os::signal_event(own_.get()); }

void BellSet::drain() const {
  if (!has_foreign()) {
    os::drain_event(own_.get());
    return;
  }
  // At most 32 are drained. The next wait ends at once for the rest.
  std::array<int, 32> ready{};
  const std::size_t count = os::ready_in_joint(joint_.get(), ready);
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_guest = std::find(guests_.begin(), guests_.end(), ready[i]) != guests_.end();
    if (!is_guest) os::drain_event(ready[i]);
  }
}

}  // namespace beeline::wake
