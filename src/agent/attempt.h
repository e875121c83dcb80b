#pragma once
// One send to a peer: its draft, and the result of the attempts so far.

#include <beeline/types.h>

#include "src/send/send_path.h"

namespace beeline {

struct Attempt {
  SendResult& result;  // where the caller returns it (docs/cache-lines.md, Store forwarding)
  send::Draft draft;
  Peer to;
  send::SentPlace* place = nullptr;  // where the message lies once it is sent
  bool lost = false;                 // nobody was rung: the receiver's new life is not known yet
  std::int64_t sent_ns = 0;
};

}  // namespace beeline
