#pragma once
// The one agent of a run with many peers: ping, if all others play pong.

#include <functional>
#include <string>
#include <vector>

#include <beeline/agent.h>

#include "bench/agents.h"
#include "bench/case.h"
#include "bench/run.h"

namespace beeline::bench {

class Hub {
 public:
  // Attaches, opens the links to all others once they have attached too, and exchanges a first
  // message with each; their part is Player::join(). Errors: those of Agent::attach() and
  // Agent::peer().
  [[nodiscard]] static Result<Hub> join(Board& board, const Case& what);

  [[nodiscard]] Agent& agent() { return agent_; }
  [[nodiscard]] const std::vector<Peer>& peers() const { return peers_; }
  // The index in peers() of the agent with that pid; their number if it is none of them.
  [[nodiscard]] std::size_t index_of(Pid pid) const;

  // Sends the empty payload to all peers.
  [[nodiscard]] Result<void> send_ends();
  // Waits for one from each peer; nothing else may come.
  [[nodiscard]] Result<void> receive_ends();

 private:
  Hub(Agent agent, std::vector<Peer> peers) : agent_(std::move(agent)), peers_(std::move(peers)) {}

  Agent agent_;
  std::vector<Peer> peers_;
};

// Runs the case with a hub: `lead` is its work, `follow` that of each other side.
[[nodiscard]] Result<Outcome> run_hub(SharedBoard& board, const Case& what,
                                      const std::function<Result<void>(Board&, Hub&)>& lead,
                                      const std::function<Result<void>(Board&, Player&)>& follow);

}  // namespace beeline::bench
