#include "src/receive/answers.h"

#include <utility>

namespace beeline::receive {

PendingReply* Answers::waiting_for(std::uint32_t from, const shm::MessageHeader& header) const {
  const bool is_ack = (header.flags & shm::kFlagAck) != 0;
  for (PendingReply* pending : pending_) {
    if (pending->entry != shm::kNoEntry || pending->from != from || pending->for_ack != is_ack) {
      continue;
    }
    if (pending->request_id == header.reply_to) return pending;
    if (pending->alias != 0 && pending->alias == header.reply_to) return pending;
  }
  return nullptr;
}

// Ids of one agent follow each other, so the newest do not share places.
std::size_t Answers::place_of(std::uint64_t id) { return id % kRemembered; }

void Answers::remember(std::uint64_t id, std::uint32_t from, bool open) {
  if (id == 0) return;
  if (asked_.empty()) asked_.resize(kRemembered);
  asked_[place_of(id)] = {id, from, open};
}

bool Answers::was_asked(std::uint64_t id, std::uint32_t from) const {
  if (asked_.empty()) return false;
  const Asked& asked = asked_[place_of(id)];
  return asked.id == id && asked.from == from;
}

bool Answers::close(std::uint64_t id, std::uint32_t from) {
  if (!was_asked(id, from)) return false;
  return std::exchange(asked_[place_of(id)].open, false);
}

}  // namespace beeline::receive
