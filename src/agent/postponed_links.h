#pragma once
// In-links that were announced and could not be taken in yet: the agent has no memory, row or
// descriptor for them now. Each waits once, however often it was announced, and without its
// descriptors: when there is room the coordinator announces it again.

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include <beeline/types.h>

#include "shm/link.h"

namespace beeline {

class PostponedLinks {
 public:
  // False: it waits already.
  bool add(Pid owner, const shm::LinkKey& key);
  // The same at a take-over: the life before ours was told of it too, and may take from it.
  void add_shared(Pid owner, const shm::LinkKey& key);
  [[nodiscard]] bool is_shared(const shm::LinkKey& key) const;
  void remove(const shm::LinkKey& key);
  // Nothing was asked of this coordinator yet.
  void ask_anew();
  [[nodiscard]] bool empty() const { return links_.empty(); }
  [[nodiscard]] bool has_life(Pid owner, shm::Incarnation incarnation) const;
  // A link of an earlier life of the owner waits: what that life has sent comes first.
  [[nodiscard]] bool has_older(Pid owner, shm::Incarnation incarnation) const;
  // Asks for so many links, those of the oldest lives first: `ask(key)` is true when it has been
  // asked. No link is asked for twice within kPause. `now_ns`: coarse clock.
  template <typename Ask>
  void ask_for(std::size_t most, std::int64_t now_ns, Ask&& ask) {
    std::size_t asked = 0;
    for (auto it = links_.begin(); it != links_.end() && asked < most; ++it, ++asked) {
      if (now_ns < it->second.next_ns) continue;
      if (!ask(shm::LinkKey{it->first.first, it->first.second})) return;
      it->second.next_ns = now_ns + kPause;
    }
  }

 private:
  static constexpr std::int64_t kPause = 250'000'000;
  using Key = std::pair<shm::Incarnation, std::uint32_t>;  // incarnation, serial
  struct Waiting {
    Pid owner = 0;
    std::int64_t next_ns = 0;  // when it may be asked for
    bool is_shared = false;
  };
  std::map<Key, Waiting> links_;  // the oldest life first
  std::set<std::pair<Pid, Key>> by_owner_;
};

}  // namespace beeline
