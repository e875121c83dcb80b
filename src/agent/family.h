#pragma once
// The tree as this agent sees it: the parent, everybody above it, and how a peer is related.

#include <cstdint>
#include <vector>

#include "src/agent/directory.h"
#include "src/agent/peer_links.h"
#include "src/receive/receiver.h"

namespace beeline {

class LinkOpener;

class Family {
 public:
  Family(OwnLife& life, const Directory& directory, receive::Receiver& receiver, PeerLinks& links,
         LinkOpener& opener, Pid parent)
      : life_(life),
        directory_(directory),
        receiver_(receiver),
        links_(links),
        opener_(opener),
        parent_(parent) {}

  // Under the send lock once other threads send.
  [[nodiscard]] Pid parent() const { return parent_; }
  // Everybody above this agent, nearest first.
  [[nodiscard]] const std::vector<Pid>& superiors();
  void set_relation(PeerRecord& owner);
  // The epoch of the directory when relations were computed last.
  [[nodiscard]] std::uint64_t tree_epoch() const { return tree_epoch_; }
  // A new directory: relations are computed again.
  void forget_tree() { tree_epoch_ = 0; }
  void watch_tree();
  void mark_sibling(send::OutLink& link);
  // Something is to be sent to a sibling, which the parent sees.
  void note_shown() { shows_parent_ = true; }
  // The agent that an inbox entry has come by: the nearest above both; 0 where there is none.
  [[nodiscard]] Pid via_of(shm::EntryIndex entry) const;
  [[nodiscard]] Relation relation_of(shm::EntryIndex entry) const;

 private:
  OwnLife& life_;
  const Directory& directory_;
  receive::Receiver& receiver_;
  PeerLinks& links_;
  LinkOpener& opener_;
  Pid parent_;
  std::uint64_t tree_epoch_ = 0;
  std::vector<Pid> superiors_;         // in ...
  std::uint64_t superiors_epoch_ = 0;  // ... this tree
  bool shows_parent_ = false;
};

}  // namespace beeline
