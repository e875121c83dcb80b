#pragma once
// The messages that lie in the table and in no order: answers that nobody waits for,
// acknowledgements, and words about tasks.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "shm/index.h"

namespace beeline::receive {

class Stash {
 public:
  // Kinds of less use come first.
  enum class Kind : std::uint8_t { kReport, kAck, kUnasked, kAsked };
  static constexpr std::size_t kKinds = 4;
  struct Item {
    shm::EntryIndex at = shm::kNoEntry;
    std::uint32_t from = 0;
    std::uint64_t arrival = 0;
    Kind kind = Kind::kAsked;
    bool in_slab = false;
  };

  // Its entry is not here yet.
  void add(const Item& item);
  // Does nothing if it is not here.
  void remove(shm::EntryIndex at);

  [[nodiscard]] std::size_t size() const { return items_.size(); }
  [[nodiscard]] bool contains(shm::EntryIndex at) const { return places_.contains(at); }
  // By arrival. A home that a predecessor left may name one arrival twice.
  using Place = std::pair<std::uint64_t, shm::EntryIndex>;
  [[nodiscard]] const std::map<Place, Item>& items() const { return items_; }
  // The first that matches, or kNoEntry.
  template <typename Wanted>
  [[nodiscard]] shm::EntryIndex find_if(Wanted&& wanted) const;
  // All that match.
  template <typename Wanted>
  [[nodiscard]] std::vector<shm::EntryIndex> find_all(Wanted&& wanted) const;
  // The item that goes when there are too many: the oldest of the least use of the sender that has
  // the most.
  // REQUIRES: size() != 0.
  [[nodiscard]] shm::EntryIndex first_to_go() const;

 private:
  // The places of a sender's items.
  struct Share {
    std::array<std::set<Place>, kKinds> by_kind;
    std::size_t count = 0;
  };
  void recount(std::uint32_t from, Share& share, std::size_t count);

  std::map<Place, Item> items_;
  std::unordered_map<shm::EntryIndex, Place> places_;         // by entry
  std::unordered_map<std::uint32_t, Share> shares_;           // by sender
  std::set<std::pair<std::size_t, std::uint32_t>> by_count_;  // senders
};

template <typename Wanted>
shm::EntryIndex Stash::find_if(Wanted&& wanted) const {
  for (const auto& [place, item] : items_) {
    if (wanted(item)) return item.at;
  }
  return shm::kNoEntry;
}

template <typename Wanted>
std::vector<shm::EntryIndex> Stash::find_all(Wanted&& wanted) const {
  std::vector<shm::EntryIndex> found;
  for (const auto& [place, item] : items_) {
    if (wanted(item)) found.push_back(item.at);
  }
  return found;
}

}  // namespace beeline::receive
