#include "src/receive/answers.h"

namespace beeline::receive {

PendingReply* Answers::waiting_for(std::uint32_t from, std::uint64_t reply_to, bool is_ack) const {
  for (PendingReply* pending : pending_) {
    if (pending->entry != shm::kNoEntry || pending->from != from || pending->for_ack != is_ack) {
      continue;
    }
    if (pending->request_id == reply_to) return pending;
    if (pending->alias != 0 && pending->alias == reply_to) return pending;
  }
  return nullptr;
}

PendingReply* Answers::left_by(std::uint32_t from, std::uint64_t reply_to) const {
  for (PendingReply* pending : pending_) {
    const bool is_theirs = pending->from == from && pending->request_id == reply_to;
    if (is_theirs && pending->wants_word && pending->word == shm::kNoEntry) return pending;
  }
  return nullptr;
}

bool Answers::open(std::uint64_t id, std::uint64_t alias, std::uint32_t from) {
  if (open_.size() >= kMostOpenQuestions) return false;
  open_.emplace(Name{id, from}, alias);
  if (alias != 0) ids_.emplace(Name{alias, from}, id);
  return true;
}

// Finds an open question by either of its ids.
Answers::Open::iterator Answers::find_open(const Name& name) {
  const auto found = open_.find(name);
  if (found != open_.end()) return found;
  const auto id = ids_.find(name);
  return id == ids_.end() ? open_.end() : open_.find({id->second, name.from});
}

Answers::Open::iterator Answers::erase(Open::iterator question) {
  const auto [name, alias] = *question;
  auto [first, last] = ids_.equal_range({alias, name.from});
  while (first != last && first->second != name.id) ++first;
  if (first != last) ids_.erase(first);
  return open_.erase(question);
}

void Answers::withdraw(std::uint64_t id, std::uint32_t from) {
  const auto found = open_.find({id, from});
  if (found != open_.end()) erase(found);
}

void Answers::forget(std::uint32_t from) {
  for (auto it = open_.begin(); it != open_.end();) {
    it = it->first.from == from ? erase(it) : std::next(it);
  }
}

bool Answers::close(std::uint64_t id, std::uint32_t from) {
  const auto found = find_open({id, from});
  if (found == open_.end()) return false;
  remember(found->first.id, from);
  remember(found->second, from);
  erase(found);
  return true;
}

void Answers::remember(std::uint64_t id, std::uint32_t from) {
  if (id != 0) known_.add({id, from});
}

bool Answers::was_asked(std::uint64_t id, std::uint32_t from) const {
  const Name name{id, from};
  return open_.contains(name) || ids_.contains(name) || known_.contains(name);
}

}  // namespace beeline::receive
