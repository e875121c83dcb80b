#pragma once
// The facts about the owner of an in-link that this agent needs and the receiver does not: its word
// in the directory, the age of its relation, and whether its fault was reported.

#include <cstdint>

#include "shm/check.h"
#include "shm/directory.h"
#include "src/receive/in_link.h"

namespace beeline {

class PeerRecord {
 public:
  // The owner has no place yet.
  explicit PeerRecord(receive::InLink& link) : link_(&link) {}

  // The link of the owner.
  [[nodiscard]] receive::InLink& link() const { return *link_; }

  // ---- The owner's place in the directory ----
  // The coordinator has named the place. A place beyond the directory says that the owner is
  // finally dead.
  void place(const shm::DirectoryView& directory, std::uint32_t index);
  // False while the coordinator has not named the place, and for the finally dead.
  [[nodiscard]] bool has_place() const { return word_ != nullptr; }
  [[nodiscard]] std::uint32_t index() const {
    BEELINE_CHECK(has_place(), link_->owner_pid(), link_->key().incarnation);
    return index_;
  }
  // The word of the place, which may belong to another agent by now.
  [[nodiscard]] shm::AgentWord word() const;
  // Looks at the directory whether the life that owns the link has ended: nothing will be added to
  // it.
  void watch_owner();

  // ---- The tree ----
  // The epoch of the tree that the owner's relation comes from.
  [[nodiscard]] std::uint64_t tree_epoch() const { return tree_epoch_; }
  void note_tree(std::uint64_t epoch) { tree_epoch_ = epoch; }

  // ---- The coordinator ----
  // The coordinator was told of the fault of the owner.
  [[nodiscard]] bool is_reported() const { return reported_; }
  void note_reported() { reported_ = true; }
  // The next coordinator has a new directory, and is told of the fault again.
  void begin_anew();

 private:
  receive::InLink* link_;
  const shm::Atomic<std::uint64_t>* word_ = nullptr;
  std::uint64_t tree_epoch_ = 0;
  std::uint32_t index_ = 0;  // of the word
  bool reported_ = false;
};

}  // namespace beeline
