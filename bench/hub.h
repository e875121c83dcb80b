#pragma once
// The one agent of a run that has many peers: ping, where all others play pong.

#include <string>
#include <vector>

#include <beeline/agent.h>

#include "bench/case.h"
#include "bench/pair.h"

namespace beeline::bench {

class Hub {
 public:
  /// Attaches, opens the links to all others once they have attached too, and exchanges a first
  /// message with each; for their part that is Player::join(). Errors: those of Agent::attach() and
  /// Agent::peer().
  [[nodiscard]] static Result<Hub> join(Board& board, const Case& what);

  [[nodiscard]] Agent& agent() { return agent_; }
  [[nodiscard]] const std::vector<Peer>& peers() const { return peers_; }
  /// Where the agent with that pid stands in peers(); their number if it is none of them.
  [[nodiscard]] std::size_t index_of(Pid pid) const;

  /// The empty payload to everybody.
  [[nodiscard]] Result<void> send_ends();
  /// Waits for one from everybody; nothing else may come.
  [[nodiscard]] Result<void> receive_ends();

 private:
  Hub(Agent agent, std::vector<Peer> peers) : agent_(std::move(agent)), peers_(std::move(peers)) {}

  Agent agent_;
  std::vector<Peer> peers_;
};

}  // namespace beeline::bench
