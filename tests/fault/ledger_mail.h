#pragma once
// Sends and takes messages and notes each of them in the ledger.

#include <gtest/gtest.h>

#include <vector>

#include <beeline/agent.h>

#include "tests/fault/correspondent.h"
#include "tests/fault/ledger.h"
#include "tests/support/payload.h"

namespace beeline::test {

// False if it was not accepted.
inline bool send_noted(Agent& agent, Ledger& ledger, Peer to, PayloadHead head, std::size_t bytes,
                       Deadline deadline = Deadline::min()) {
  head.sequence = ledger.attempt(head.sender, head.receiver);
  std::vector<std::byte> payload(bytes);
  write_payload(payload, head);
  const SendResult sent = agent.send_until(to, payload, deadline);
  if (sent) {
    ledger.accept(head.sender, head.receiver, head.sequence, sent.id);
  } else {
    ledger.refuse(head.sender, head.receiver, head.sequence);
  }
  return static_cast<bool>(sent);
}

// Notes that player `self` got the message.
inline Ledger::Receipt note_receipt(Ledger& ledger, std::uint32_t self, const Message& message) {
  const auto receipt =
      Correspondent(ledger, self).receive(message, [](std::uint32_t) -> Pid { return 0; });
  return receipt.value_or(Ledger::Receipt{});
}

inline void finish_noted(Ledger& ledger, std::uint32_t self, Message message) {
  const Ledger::Receipt receipt = note_receipt(ledger, self, message);
  ledger.begin_end(receipt);
  message.done();
  ledger.finish(receipt);
}

// Takes and finishes all waiting messages; returns how many.
inline std::size_t take_noted(Agent& agent, Ledger& ledger, std::uint32_t self) {
  std::size_t count = 0;
  for (; auto message = agent.try_receive(); ++count) {
    finish_noted(ledger, self, std::move(*message));
  }
  return count;
}

}  // namespace beeline::test
