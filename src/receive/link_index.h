#pragma once
// The in-links of an agent by name and by owner. A question about one owner visits the links of
// that owner and no others: thousands of senders may have ended and left a link each.

#include <cstdint>
#include <map>
#include <tuple>

#include "src/receive/in_link.h"

namespace beeline::receive {

class LinkIndex {
 public:
  // Says too which link of the same owner each has to wait for.
  void add(InLink& link);
  void remove(InLink& link);
  [[nodiscard]] InLink* find(const shm::LinkKey& key) const;
  // The owner of the link has ended and left nothing in it: no link of a later life waits for it.
  void pass_over(const InLink& link);
  [[nodiscard]] bool has_life(std::uint32_t owner, shm::Incarnation incarnation) const;
  // The links of all lives of an owner, the oldest first. `visit` neither adds nor removes any.
  template <typename Visit>
  void each_of(std::uint32_t owner, Visit&& visit) const {
    for (auto it = first_of(owner); it != by_owner_.end() && owner_of(it) == owner; ++it) {
      visit(*it->second);
    }
  }

 private:
  using Place =
      std::tuple<std::uint32_t, shm::Incarnation, std::uint32_t>;  // pid, incarnation, serial
  using Places = std::map<Place, InLink*>;
  [[nodiscard]] static Place place_of(const InLink& link) {
    return {link.owner_pid(), link.key().incarnation, link.key().serial};
  }
  [[nodiscard]] static std::uint32_t owner_of(Places::const_iterator it) {
    return std::get<0>(it->first);
  }
  [[nodiscard]] Places::const_iterator first_of(std::uint32_t owner) const {
    return by_owner_.lower_bound({owner, shm::kNoIncarnation, 0});
  }

  Places by_owner_;
  std::map<std::pair<shm::Incarnation, std::uint32_t>, InLink*> by_key_;
};

}  // namespace beeline::receive
