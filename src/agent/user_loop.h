#pragma once
// The loop of a user that waits outside of the library: what its looks find, and when it is woken.

#include <cstddef>
#include <deque>
#include <optional>

#include <beeline/event_loop.h>

#include "src/agent/own_life.h"
#include "src/agent/peer_links.h"
#include "src/receive/receiver.h"

namespace beeline {

class Errands;
class Leaving;
class OpenQuestions;
class Sleeper;

class UserLoop {
 public:
  struct Needs {
    OwnLife& life;
    Notices& notices;
    receive::Receiver& receiver;
    PeerLinks& links;
    OpenQuestions& questions;
    Errands& errands;
    Leaving& leaving;
    Sleeper& sleeper;
  };
  explicit UserLoop(const Needs& needs) : with_(needs) {}

  Readiness poll();

  // ---- Space ----
  Result<void> want_space(Peer peer, bool wanted);
  [[nodiscard]] std::optional<Peer> next_space();

 private:
  void look();
  // Tells of the wishes that have come true. Returns when the next token for another comes.
  Deadline look_for_space();
  [[nodiscard]] bool has_space(Peer peer, Deadline& next);
  void stop_ringing(Peer peer);

  Needs with_;
  std::deque<Peer> wishes_;
  std::deque<Peer> spaces_;  // wishes that have come true
};

}  // namespace beeline
