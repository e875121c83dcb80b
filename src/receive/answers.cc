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

void Answers::remember(std::uint64_t id, std::uint32_t from, bool open) {
  if (id == 0) return;
  const auto [place, is_new] = place_of_.try_emplace(id, next_);
  const std::size_t at = place->second;
  if (is_new) {
    if (asked_.size() < kRemembered) {
      asked_.emplace_back();
    } else {
      place_of_.erase(asked_[next_].id);
    }
    next_ = (next_ + 1) % kRemembered;
  }
  asked_[at] = {id, from, open};
}

const Answers::Asked* Answers::find(std::uint64_t id, std::uint32_t from) const {
  const auto place = place_of_.find(id);
  if (place == place_of_.end() || asked_[place->second].from != from) return nullptr;
  return &asked_[place->second];
}

bool Answers::was_asked(std::uint64_t id, std::uint32_t from) const {
  return find(id, from) != nullptr;
}

bool Answers::close(std::uint64_t id, std::uint32_t from) {
  if (find(id, from) == nullptr) return false;
  return std::exchange(asked_[place_of_[id]].open, false);
}

}  // namespace beeline::receive
