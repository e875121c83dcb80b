#pragma once
// What lies in the table and in no order: answers that nobody waits for, and acknowledgements.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <unordered_map>
#include <vector>

#include "shm/index.h"

namespace beeline::receive {

class Stash {
 public:
  // What is of less use comes first.
  enum class Kind : std::uint8_t { kAck, kUnasked, kAsked };
  struct Item {
    std::uint32_t at = shm::kNoEntry;
    std::uint32_t from = 0;
    Kind kind = Kind::kAsked;
    bool in_slab = false;
  };

  // Becomes the newest.
  void add(const Item& item);
  // Does nothing if it is not here.
  void remove(std::uint32_t at);
  // Removes what matches; returns its entries, oldest first.
  template <typename Wanted>
  std::vector<std::uint32_t> remove_if(Wanted&& wanted);

  [[nodiscard]] std::size_t size() const { return items_.size(); }
  // Oldest first.
  [[nodiscard]] std::span<const Item> items() const { return items_; }
  [[nodiscard]] bool contains(std::uint32_t at) const;
  // The oldest that matches, or kNoEntry.
  template <typename Wanted>
  [[nodiscard]] std::uint32_t find_if(Wanted&& wanted) const;
  // What goes when there is too much: of whoever has the most in it the oldest of the least use.
  // REQUIRES: size() != 0.
  [[nodiscard]] std::uint32_t first_to_go() const;

 private:
  void discount(std::uint32_t from);

  std::vector<Item> items_;
  std::unordered_map<std::uint32_t, std::size_t> counts_;  // by sender
};

template <typename Wanted>
std::uint32_t Stash::find_if(Wanted&& wanted) const {
  const auto found = std::find_if(items_.begin(), items_.end(), wanted);
  return found == items_.end() ? shm::kNoEntry : found->at;
}

template <typename Wanted>
std::vector<std::uint32_t> Stash::remove_if(Wanted&& wanted) {
  std::vector<std::uint32_t> removed;
  std::erase_if(items_, [&](const Item& item) {
    if (!wanted(item)) return false;
    removed.push_back(item.at);
    discount(item.from);
    return true;
  });
  return removed;
}

}  // namespace beeline::receive
