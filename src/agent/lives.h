#pragma once
// The lives of peers, as this agent knows them: where each is rung, and the link that it shows us.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <beeline/result.h>

#include "src/os/fd.h"
#include "src/segment/foreign.h"
#include "src/send/send_path.h"
#include "src/wake/bell.h"

namespace beeline {

class Lives {
 public:
  // Accepts the status page and eventfd of a life, or finds them. Errors: kBadSegment,
  // kWrongVersion, kProtocol.
  [[nodiscard]] Result<wake::Bell> learn(std::uint32_t pid, shm::Incarnation incarnation,
                                         os::UniqueFd status, os::UniqueFd event);
  // A life, or an empty one when it is not known. A life that had ended when we heard of it
  // has a link and no bell.
  [[nodiscard]] send::PeerLife find(std::uint32_t pid, shm::Incarnation incarnation) const;
  // Its own link to us, where its receipts lie. Not owned. Returns the early view that it replaces,
  // null if there was none; the caller changes over from it now.
  const shm::LinkView* set_link(std::uint32_t pid, shm::Incarnation incarnation,
                                const shm::LinkView* link);
  // The same before the receive side has that link: the memory is kept with the life.
  void show_early(std::uint32_t pid, shm::Incarnation incarnation, segment::Foreign memory,
                  const shm::LinkContract& contract);
  // Lets go of its status page and its eventfd: it has ended. Nobody may hold its bell any more.
  void end(std::uint32_t pid, shm::Incarnation incarnation);
  // Forgets the lives of an agent, the oldest first, up to one that `is_used(incarnation, link)`;
  // calls `forgotten(incarnation)` for each.
  template <typename IsUsed, typename Forgotten>
  void forget_oldest(std::uint32_t pid, IsUsed&& is_used, Forgotten&& forgotten) {
    for (auto it = lives_.lower_bound({pid, shm::kNoIncarnation});
         it != lives_.end() && it->first.first == pid;) {
      if (is_used(it->first.second, it->second->link)) return;
      forgotten(it->first.second);
      it = lives_.erase(it);
    }
  }
  // Forgets one life.
  void forget(std::uint32_t pid, shm::Incarnation incarnation) { lives_.erase({pid, incarnation}); }

 private:
  struct Life {
    segment::Foreign status;
    os::UniqueFd event;
    const shm::LinkView* link = nullptr;
    segment::Foreign early_memory;
    std::optional<shm::LinkView> early_link;  // in it
    [[nodiscard]] bool has_process() const { return event.valid(); }
    [[nodiscard]] wake::Bell bell() const {
      if (!has_process()) return {};
      return {reinterpret_cast<const shm::StatusPage*>(status.data()), event.get()};
    }
  };
  [[nodiscard]] Life* get(std::uint32_t pid, shm::Incarnation incarnation) const;
  Life& get_or_add(std::uint32_t pid, shm::Incarnation incarnation);
  std::map<std::pair<std::uint32_t, shm::Incarnation>, std::unique_ptr<Life>> lives_;
};

}  // namespace beeline
