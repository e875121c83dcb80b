#pragma once
// This agent owes a peer a message for which its link had no room: an acknowledgement, an answer
// that a handler gave back as its text, or the order to give a message back. No call waits for it.

#include <cstdint>

#include <beeline/types.h>

#include "shm/entry.h"
#include "shm/index.h"

namespace beeline {

// The message that an acknowledgement is about.
struct Subject {
  MessageId id = 0;
  bool is_question = false;
  Subject() = default;
  explicit Subject(const shm::Entry& entry)
      : id(entry.header.id), is_question(entry.is_question()) {}
};

struct Debt {
  enum class Kind : std::uint8_t { kAck, kCancel, kAnswer };
  Kind kind = Kind::kAck;
  Pid to = 0;
  Acknowledgement ack;                    // of kCancel the id alone, of kAnswer its text too
  bool is_question = false;               // of kAck: the message that it is about
  shm::EntryIndex entry = shm::kNoEntry;  // of kAnswer: what it answers, leased until it is sent
};

}  // namespace beeline
