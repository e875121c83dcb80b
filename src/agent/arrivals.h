#pragma once
// In-links as they arrive: the coordinator announces them, and this agent adds, refuses or
// postpones each.

#include <cstdint>
#include <memory>
#include <vector>

#include "src/agent/deadlines.h"
#include "src/agent/directory.h"
#include "src/agent/peer_links.h"
#include "src/agent/postponed_links.h"
#include "src/control/client.h"
#include "src/receive/rates.h"
#include "src/receive/receiver.h"
#include "src/wake/bell_set.h"

namespace beeline {

class Ended;
class Escalations;
class Family;
class LinkOpener;
class Reports;

class Arrivals {
 public:
  struct Needs {
    OwnLife& life;
    const Directory& directory;
    control::Client& client;
    receive::Receiver& receiver;
    wake::BellSet& bells;
    PeerLinks& links;
    LinkOpener& opener;
    Family& family;
    Ended& ended;
    Reports& reports;
    Escalations& escalations;
    Deadlines& deadlines;
  };
  // `rate`: at which this agent takes from each sender, full.
  Arrivals(const Needs& needs, const limit::TokenBucket& rate);

  void handle(control::AnnouncedLink announced);
  // After a resume the coordinator announces so many links again. It knows every life from this
  // incarnation on.
  void expect(std::uint32_t count, shm::Incarnation all_known_of);
  // Asks for links that wait for room.
  void ask_for_postponed();
  void ask_for_owners();

  // ---- The steps, for links that a successor takes over too ----
  // Before a link is added, this agent learns where to ring its owner, and adds the eventfd with
  // which the owner rings this agent.
  void learn_owner(control::AnnouncedLink& announced);
  void listen_to(shm::Incarnation incarnation, os::UniqueFd bell);
  [[nodiscard]] Result<segment::Foreign> map_link(control::AnnouncedLink& announced) const;
  [[nodiscard]] std::unique_ptr<receive::InLink> make_in_link(
      segment::Foreign memory, const control::AnnouncedLink& announced);
  // The coordinator has named the place of the owner in the directory.
  void place_owner(PeerRecord& owner, std::uint32_t index);
  void join_life(receive::InLink& link);
  void connect_receipts(receive::InLink& link);

  [[nodiscard]] PostponedLinks& postponed() { return postponed_; }
  [[nodiscard]] bool limits_rates() const { return rates_.on(); }
  // Links that this agent has forgotten, as the coordinator is still to be told.
  [[nodiscard]] std::vector<shm::LinkKey>& gone() { return gone_; }

 private:
  [[nodiscard]] Result<void> accept_link(control::AnnouncedLink& announced);
  void find_lost_owners(Pid pid, std::uint32_t index);

  OwnLife& life_;
  const Directory& directory_;
  control::Client& client_;
  receive::Receiver& receiver_;
  wake::BellSet& bells_;
  PeerLinks& links_;
  LinkOpener& opener_;
  Family& family_;
  Ended& ended_;
  Reports& reports_;
  Escalations& escalations_;
  Deadlines& deadlines_;
  receive::Rates rates_;
  PostponedLinks postponed_;
  std::vector<shm::LinkKey> gone_;
  std::uint32_t links_to_come_ = 0;  // that the coordinator is about to announce
  shm::Incarnation all_known_of_;
  bool asks_for_owners_ = false;  // of links that the coordinator does not announce
};

}  // namespace beeline
