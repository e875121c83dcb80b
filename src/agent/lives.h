#pragma once
// What this agent knows of the lives of its peers: where each is rung, and the link that it shows
// us.

#include <memory>
#include <optional>
#include <vector>

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
  [[nodiscard]] Result<wake::Bell> learn(std::uint32_t pid, std::uint64_t incarnation,
                                         os::UniqueFd status, os::UniqueFd event);
  // A life, or an empty one when it is not known. One whose process had ended when we heard of it
  // has a link and no bell.
  [[nodiscard]] send::PeerLife find(std::uint32_t pid, std::uint64_t incarnation) const;
  // Its own link to us, where its receipts lie. Not owned. Returns the early view that it replaces,
  // null if there was none; whoever uses that changes over now.
  const shm::LinkView* set_link(std::uint32_t pid, std::uint64_t incarnation,
                                const shm::LinkView* link);
  // The same before the receive side has that link: the memory is kept with the life.
  void show_early(std::uint32_t pid, std::uint64_t incarnation, segment::Foreign memory,
                  const shm::LinkContract& contract);
  // Forgets the lives for which `unused(pid, incarnation, link)`.
  template <typename Unused>
  void forget(Unused&& unused) {
    std::erase_if(
        lives_, [&](const auto& life) { return unused(life->pid, life->incarnation, life->link); });
  }

 private:
  struct Life {
    std::uint32_t pid = 0;
    std::uint64_t incarnation = 0;
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
  [[nodiscard]] Life* get(std::uint32_t pid, std::uint64_t incarnation) const;
  Life& get_or_add(std::uint32_t pid, std::uint64_t incarnation);
  std::vector<std::unique_ptr<Life>> lives_;
};

}  // namespace beeline
