#pragma once
// A message on its way, and the result of the attempt to send it.

#include <beeline/types.h>

#include "src/send/send_path.h"

namespace beeline {

struct Draft {
  SendResult& result;  // where the caller returns it: a copy of it would be loaded too soon
  const send::Envelope& envelope;
  const send::Parcel& parcel;
  Peer to;
  MessageId id = 0;                  // 0: none yet
  send::SentPlace* place = nullptr;  // where the message lies once it is sent
  bool lost = false;                 // nobody was rung: the receiver's new life is not known yet
  std::int64_t sent_ns = 0;
};

}  // namespace beeline
