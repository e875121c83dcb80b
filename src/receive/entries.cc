#include "src/receive/entries.h"

#include <algorithm>

namespace beeline::receive {

void Entries::quarantine(InLink& link, const char* fault) {
  if (links_.quarantine(link, fault)) add_one(control().counters.bad_slots);
}

// Asks for short payloads alone (docs/cache-lines.md, Prefetch distances).
void Entries::prefetch_next_payload() const {
  constexpr std::uint32_t kMostBytes = 1024;
  const shm::EntryIndex at = home_->inbox().next();
  if (at == shm::kNoEntry || !entry(at).in_slab()) return;
  const shm::MessageHeader& header = entry(at).header;
  const InLink* const link = link_of(at);
  if (link != nullptr && header.length <= kMostBytes)
    link->prefetch_slab(shm::slab_of(header), header.length);
}

shm::EntryIndex Entries::find_dead(std::uint64_t id) const {
  const shm::Home& home = table();
  for (shm::EntryIndex at(0); at.value() < home.entries_allocated(); ++at) {
    const shm::Entry& found = home.entry(at);
    if (found.word().state == shm::EntryState::kDead && found.header.id == id) return at;
  }
  return shm::kNoEntry;
}

void Entries::done(shm::EntryIndex at) {
  const shm::RowIndex row = entry(at).word().row;
  shm::Atomic<std::uint64_t>* stamp = stamp_word(at);
  home_->inbox().done(at, stamp);
  if (stamp != nullptr) rings_.ring_for_space(*links_.of_row(row));
  links_.unrefer(row);
}

void Entries::purge_dead(shm::EntryIndex at) {
  const shm::RowIndex row = entry(at).word().row;
  shm::Atomic<std::uint64_t>* stamp = stamp_word(at);
  home_->inbox().purge(at, stamp);
  if (stamp != nullptr) rings_.ring_for_space(*links_.of_row(row));
  links_.unrefer(row);
}

void Entries::drop_copy(shm::EntryIndex at) {
  add_one(control().counters.copies_dropped);
  done(at);
}

shm::Atomic<std::uint64_t>* Entries::stamp_word(shm::EntryIndex at) {
  if (!entry(at).in_slab()) return nullptr;
  InLink* link = link_of(at);
  if (link == nullptr || !link->sink().valid() || !ensure_stamps(link->sink())) return nullptr;
  return &link->sink().own->stamp(link->sink().bank, shm::slab_of(entry(at).header));
}

std::span<const std::byte> Entries::slab_payload(shm::EntryIndex at) const {
  const InLink* link = link_of(at);
  if (link == nullptr) return {};
  const shm::Entry& found = entry(at);
  return {link->view().slab(shm::slab_of(found.header)), found.header.length};
}

std::string_view Entries::sender_name(shm::EntryIndex at) const {
  const InLink* link = link_of(at);
  return link == nullptr ? std::string_view() : std::string_view(link->owner_name());
}

shm::StringCopy Entries::string_of(shm::EntryIndex at, std::uint16_t number,
                                   shm::StringCopy shm::CarriedTexts::*carried) const {
  const InLink* link = number == 0 ? nullptr : link_of(at);
  if (link == nullptr) return {};
  if (number <= link->verified().strings) return shm::read_string(link->view(), number);
  if (number != shm::kCarriedText || !entry(at).in_slab()) return {};
  return shm::read_carried(link->view(), shm::slab_of(entry(at).header)).*carried;
}

TypeText Entries::type(shm::EntryIndex at) const {
  TypeText type;
  const auto append = [&](std::string_view part) {
    std::copy(part.begin(), part.end(), type.text + type.length);
    type.length = static_cast<unsigned char>(type.length + part.size());
  };
  if (is_copy(entry(at).header)) append(kSiblingTraffic);
  append(own_type(at).view());
  return type;
}

shm::StringCopy Entries::own_type(shm::EntryIndex at) const {
  return string_of(at, entry(at).header.type, &shm::CarriedTexts::type);
}

shm::StringCopy Entries::channel(shm::EntryIndex at) const {
  return string_of(at, entry(at).header.channel, &shm::CarriedTexts::channel);
}

}  // namespace beeline::receive
