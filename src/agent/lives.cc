#include "src/agent/lives.h"

#include "src/os/event_fd.h"

namespace beeline {

Result<wake::Bell> Lives::learn(std::uint32_t pid, shm::Incarnation incarnation,
                                os::UniqueFd status, os::UniqueFd event) {
  const Life* known = get(pid, incarnation);
  if (known != nullptr && known->has_process()) return known->bell();
  const shm::SegmentIdentity promised{
      shm::SegmentKind::kStatus, shm::kStatusBytes, pid, 0, incarnation, 0};
  auto page = segment::Foreign::accept(std::move(status), promised, shm::kStatusBytes);
  if (!page) return tl::unexpected(page.error());
  if (auto ok = os::check_event_fd(event.get()); !ok) return tl::unexpected(ok.error());
  Life& life = get_or_add(pid, incarnation);
  life.status = std::move(*page);
  life.status.close_fd();  // all of it was verified
  life.event = std::move(event);
  return life.bell();
}

Lives::Life& Lives::get_or_add(std::uint32_t pid, shm::Incarnation incarnation) {
  auto& life = lives_[{pid, incarnation}];
  if (life == nullptr) life = std::make_unique<Life>();
  return *life;
}

Lives::Life* Lives::get(std::uint32_t pid, shm::Incarnation incarnation) const {
  const auto found = lives_.find({pid, incarnation});
  return found == lives_.end() ? nullptr : found->second.get();
}

void Lives::end(std::uint32_t pid, shm::Incarnation incarnation) {
  Life* life = get(pid, incarnation);
  if (life == nullptr) return;
  life->status = {};
  life->event.reset();
}

send::PeerLife Lives::find(std::uint32_t pid, shm::Incarnation incarnation) const {
  const Life* life = get(pid, incarnation);
  if (life == nullptr) return {};
  return {life->bell(), life->link, life->has_process()};
}

void Lives::show_early(std::uint32_t pid, shm::Incarnation incarnation, segment::Foreign memory,
                       const shm::LinkContract& contract) {
  Life* life = get(pid, incarnation);
  if (life == nullptr || life->link != nullptr) return;
  life->early_memory = std::move(memory);
  life->early_link.emplace(life->early_memory.data(), contract);
  life->link = &*life->early_link;
}

const shm::LinkView* Lives::set_link(std::uint32_t pid, shm::Incarnation incarnation,
                                     const shm::LinkView* link) {
  if (link == nullptr && get(pid, incarnation) == nullptr) return nullptr;
  Life& life = get_or_add(pid, incarnation);
  life.link = link;
  return life.early_link ? &*life.early_link : nullptr;
}

}  // namespace beeline
