#include "src/receive/rates.h"

#include <algorithm>
#include <vector>

namespace beeline::receive {

std::shared_ptr<limit::TokenBucket> Rates::of(const std::string& name, std::int64_t now_ns) {
  if (!on()) return nullptr;
  const auto known = buckets_.find(name);
  if (known != buckets_.end()) return known->second;
  if (buckets_.size() >= kMostIdle) forget_idle(now_ns);
  return buckets_.emplace(name, std::make_shared<limit::TokenBucket>(full_)).first->second;
}

// Half of those that nobody uses, so that the next ones cost no search.
void Rates::forget_idle(std::int64_t now_ns) {
  using Each = decltype(buckets_)::iterator;
  std::vector<Each> idle;
  for (auto each = buckets_.begin(); each != buckets_.end(); ++each) {
    if (each->second.use_count() == 1) idle.push_back(each);
  }
  if (idle.size() < kMostIdle) return;
  const auto half = idle.begin() + static_cast<std::ptrdiff_t>(idle.size() / 2);
  std::nth_element(idle.begin(), half, idle.end(), [now_ns](const Each& a, const Each& b) {
    return a->second->available(now_ns) > b->second->available(now_ns);
  });
  std::for_each(idle.begin(), half, [this](const Each& each) { buckets_.erase(each); });
}

}  // namespace beeline::receive
