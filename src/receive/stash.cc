#include "src/receive/stash.h"

namespace beeline::receive {

namespace {

[[nodiscard]] auto is_entry(std::uint32_t at) {
  return [at](const Stash::Item& item) { return item.at == at; };
}

}  // namespace

void Stash::add(const Item& item) {
  items_.push_back(item);
  ++counts_[item.from];
}

void Stash::remove(std::uint32_t at) {
  const auto found = std::find_if(items_.begin(), items_.end(), is_entry(at));
  if (found == items_.end()) return;
  discount(found->from);
  items_.erase(found);
}

void Stash::discount(std::uint32_t from) {
  const auto count = counts_.find(from);
  if (--count->second == 0) counts_.erase(count);
}

// Whoever asks has just added it.
bool Stash::contains(std::uint32_t at) const {
  return std::find_if(items_.rbegin(), items_.rend(), is_entry(at)) != items_.rend();
}

std::uint32_t Stash::first_to_go() const {
  std::size_t most = 0;
  for (const auto& [from, count] : counts_) most = std::max(most, count);
  const auto worst = std::find_if(items_.begin(), items_.end(),
                                  [&](const Item& item) { return counts_.at(item.from) == most; });
  auto first = worst;
  for (auto item = worst; item != items_.end() && first->kind != Kind::kAck; ++item) {
    if (item->from == worst->from && item->kind < first->kind) first = item;
  }
  return first->at;
}

}  // namespace beeline::receive
