#include "tests/killpoints/ledger.h"

#include <stdexcept>

namespace beeline::killpoints {
namespace {

constexpr std::byte byte_of(std::uint64_t id, std::size_t at) {
  return static_cast<std::byte>((id * 0x9e3779b97f4a7c15ULL + at * 0x2545f4914f6cdd1dULL) >> 56);
}

}  // namespace

std::string to_string(Fate fate) {
  switch (fate.kind) {
    case Fate::Kind::kUnsent:
      return "unsent";
    case Fate::Kind::kLive:
      return "live with " + std::to_string(fate.detail) + " attempts";
    case Fate::Kind::kDead:
      return std::string("dead letter: ") + to_string(static_cast<shm::DeadReason>(fate.detail));
    case Fate::Kind::kGone:
      return "gone";
  }
  return "unknown";
}

Message& Ledger::add(const Message& message) {
  if (messages_.size() == kMostMessages) throw std::length_error("too many messages in a scenario");
  messages_.push_back(message);
  return messages_.back();
}

Message* Ledger::find(std::uint64_t id) {
  for (Message& message : messages_) {
    if (message.id == id) return &message;
  }
  return nullptr;
}

Fates Ledger::fates() const {
  Fates fates{};
  for (std::size_t i = 0; i < messages_.size(); ++i) fates[i] = messages_[i].fate;
  return fates;
}

void fill_payload(std::uint64_t id, std::byte* to, std::size_t length) {
  for (std::size_t i = 0; i < length; ++i) to[i] = byte_of(id, i);
}

bool is_payload(std::uint64_t id, const std::byte* found, std::size_t length) {
  for (std::size_t i = 0; i < length; ++i) {
    if (found[i] != byte_of(id, i)) return false;
  }
  return true;
}

}  // namespace beeline::killpoints
