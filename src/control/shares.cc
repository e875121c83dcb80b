#include "src/control/shares.h"

#include <algorithm>

#include "shm/check.h"

namespace beeline::control {
namespace {

std::size_t without(std::size_t a, std::size_t b) noexcept { return a - std::min(a, b); }

}  // namespace

std::size_t share_of(const Stock& stock, std::size_t held, Claim claim) noexcept {
  std::size_t usable = stock.total;
  if (claim != Claim::kReturning) usable = without(usable, stock.for_returning);
  if (claim == Claim::kOther) usable = without(usable, stock.for_owner);
  const std::size_t free = without(usable, stock.used);
  if (claim != Claim::kOther) return held + free;
  return held + without(free, held) / 2;
}

void Shares::take(uid_t user, Resource resource, std::size_t count) {
  if (count == 0) return;
  held_[{resource, user}] += count;
  used_[static_cast<std::size_t>(resource)] += count;
}

void Shares::give_back(uid_t user, Resource resource, std::size_t count) {
  if (count == 0) return;
  const auto found = held_.find({resource, user});
  BEELINE_CHECK(found != held_.end(), user, resource, count);
  BEELINE_CHECK(found->second >= count, user, resource, count, found->second);
  used_[static_cast<std::size_t>(resource)] -= count;
  found->second -= count;
  if (found->second == 0) held_.erase(found);
}

std::size_t Shares::held(uid_t user, Resource resource) const {
  const auto found = held_.find({resource, user});
  return found == held_.end() ? 0 : found->second;
}

std::size_t Shares::used(Resource resource) const {
  return used_[static_cast<std::size_t>(resource)];
}

uid_t Shares::biggest(Resource resource) const {
  const auto first = held_.lower_bound({resource, 0});
  BEELINE_CHECK(first != held_.end() && first->first.first == resource, resource);
  auto most = first;
  for (auto it = first; it != held_.end() && it->first.first == resource; ++it) {
    if (it->second > most->second) most = it;
  }
  return most->first.second;
}

}  // namespace beeline::control
