#pragma once
// Sends of other threads, on their way to the one thread at a time that holds the send side.

#include <concurrentqueue/concurrentqueue.h>

#include <beeline/types.h>

#include "src/send/draft.h"

namespace beeline {

// Lies on the stack of the sending thread until the thread that holds the send side has answered
// it.
struct SharedSend {
  Peer to;
  // Written under the send mutex: the id of the draft too.
  send::Draft draft;
  SendResult result{SendStatus::kNoMemory};
  bool lost = false;  // it lies in a lane of whose receiver we have not heard yet
};

using SendQueue = moodycamel::ConcurrentQueue<SharedSend*>;

}  // namespace beeline
