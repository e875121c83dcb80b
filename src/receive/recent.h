#pragma once
// The newest few values that were added, to be found again by value.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace beeline::receive {

// Adds and finds in a few loads each, and allocates nothing once it is full. `Hash` spreads over
// all bits.
template <typename Value, typename Hash, std::uint16_t kMost>
class Recent {
 public:
  // False: it is there already, and stays as old as it is. The oldest gives way where there are
  // kMost.
  bool add(const Value& value) {
    if (contains(value)) return false;
    if (first_.empty()) first_.resize(kChains, kNone);
    if (ring_.size() < kMost) {
      ring_.emplace_back();
    } else {
      take_out(next_);
    }
    std::uint16_t& first = first_[chain_of(value)];
    ring_[next_] = {value, first};
    first = next_;
    next_ = static_cast<std::uint16_t>((next_ + 1U) % kMost);
    return true;
  }

  [[nodiscard]] bool contains(const Value& value) const {
    if (first_.empty()) return false;
    std::uint16_t at = first_[chain_of(value)];
    while (at != kNone && ring_[at].value != value) at = ring_[at].behind;
    return at != kNone;
  }

 private:
  struct Item {
    Value value;
    std::uint16_t behind = kNone;  // in its chain
  };
  static constexpr std::uint16_t kNone = 0xffff;
  static constexpr std::size_t kChains = std::size_t{2} * kMost;
  static_assert(kMost < kNone && (kMost & (kMost - 1)) == 0);

  [[nodiscard]] static std::size_t chain_of(const Value& value) {
    return Hash()(value) & (kChains - 1);
  }
  void take_out(std::uint16_t at) {
    std::uint16_t* place = &first_[chain_of(ring_[at].value)];
    while (*place != at) place = &ring_[*place].behind;
    *place = ring_[at].behind;
  }

  std::vector<Item> ring_;
  std::vector<std::uint16_t> first_;  // of each chain
  std::uint16_t next_ = 0;            // place in the ring
};

}  // namespace beeline::receive
