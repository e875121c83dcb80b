#pragma once
// One message for many: the directory says who they are, and each gets its own in its own link.

#include <span>
#include <vector>

#include <beeline/agent.h>

#include "src/agent/directory.h"
#include "src/agent/peer_links.h"

namespace beeline {

class Family;
class Leases;
class LinkOpener;
class Sender;
class Turn;

// For one call.
class Broadcast {
 public:
  struct Needs {
    OwnLife& life;
    const Directory& directory;
    PeerLinks& links;
    LinkOpener& opener;
    Family& family;
    Leases& leases;
    Sender& sender;
    Turn& turn;
  };
  explicit Broadcast(const Needs& needs) : with_(needs) {}

  [[nodiscard]] std::vector<Delivery> run(const Group& group, std::span<const std::byte> payload,
                                          const SendOptions& options);

 private:
  [[nodiscard]] std::vector<Delivery> targets_of(const Group& group) const;
  [[nodiscard]] std::vector<Peer> open_targets(std::vector<Delivery>& targets);

  Needs with_;
};

}  // namespace beeline
