#pragma once
// An agent drains the links of owners that have ended, and then lets go of links and lives. They
// cost it nothing in between.

#include "src/agent/directory.h"
#include "src/agent/peer_links.h"
#include "src/control/client.h"
#include "src/receive/receiver.h"
#include "src/wake/bell_set.h"

namespace beeline {

class Arrivals;
class Family;
class Names;
class Questions;

class Ended {
 public:
  struct Needs {
    OwnLife& life;
    const Directory& directory;
    control::Client& client;
    receive::Receiver& receiver;
    wake::BellSet& bells;
    PeerLinks& links;
    Arrivals& arrivals;
    Family& family;
    Names& names;
    Questions& questions;
  };
  explicit Ended(const Needs& needs);

  // Finds the in-links of owners that have ended: nothing will be added to them.
  void watch_owners();
  // Looks after the links of the ended, as far as something has happened to them, and after a few
  // in their turn. Tells the coordinator which links it may let go of.
  void fade_links();
  // The coordinator has said that a link may be forgotten.
  void forget_link(const control::FadedAnnouncement& faded);
  // The owner of the link has ended: nobody is rung there any more, and nobody rings us from there.
  void end_owner(receive::InLink& link);
  // The owner has ended, and no life of that agent comes after it.
  [[nodiscard]] bool is_finally_dead(const PeerRecord& owner) const;
  // After a resume in a hive that knows the lives from this one on: pid 1 of the hive before has
  // ended with it. The next pid 1 has the same number but no cursor, so it must not read our link.
  void end_old_king(shm::Incarnation first_known);
  // Forgets a life, unless it is used, and those before it.
  void forget_life(Pid pid, shm::Incarnation incarnation);

  // Lets go of links to the finally dead that nothing refers to.
  void reap_dead_links();

 private:
  [[nodiscard]] bool look_after(receive::InLink& link);
  void look_after_all();
  [[nodiscard]] bool is_linked(const send::OutLink& own) const;
  [[nodiscard]] bool is_used(Pid pid, shm::Incarnation incarnation,
                             const shm::LinkView* shown) const;
  void forget_unused(Pid pid);

  OwnLife& life_;
  const Directory& directory_;
  control::Client& client_;
  receive::Receiver& receiver_;
  wake::BellSet& bells_;
  PeerLinks& links_;
  Arrivals& arrivals_;
  Family& family_;
  Names& names_;
  Questions& questions_;
};

}  // namespace beeline
