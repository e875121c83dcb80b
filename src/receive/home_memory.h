#pragma once
// The home of this agent: its segment, the inbox on it, and the memory that both grow into.

#include <bitset>
#include <memory>
#include <string>
#include <vector>

#include <beeline/result.h>

#include "shm/inbox.h"
#include "src/segment/owned.h"

namespace beeline::receive {

class HomeMemory {
 public:
  // Creates a home that is not ready yet, with the first entries and rows. Errors: kInvalid,
  // kNoMemory, kSystem.
  [[nodiscard]] static Result<std::unique_ptr<HomeMemory>> create(const std::string& hive,
                                                                  std::uint32_t pid,
                                                                  shm::Incarnation incarnation,
                                                                  const shm::HomeOptions& options);

  [[nodiscard]] const shm::Home& home() const { return home_; }
  [[nodiscard]] shm::Inbox& inbox() { return inbox_; }
  [[nodiscard]] const shm::Inbox& inbox() const { return inbox_; }
  [[nodiscard]] int fd() const { return memory_.fd(); }
  [[nodiscard]] const segment::Owned& memory() const { return memory_; }

  // True when one more message can be put, adding entries where the table may still grow. False:
  // full, or the system has no memory now; senders then see their lanes fill.
  [[nodiscard]] bool make_room(shm::Room room) {
    return inbox_.has_room(room) && (inbox_.free_count() != 0 || grow_entries());
  }

  // A vacant row, adding rows where none is. Errors: kFull, kNoMemory.
  [[nodiscard]] Result<shm::RowIndex> vacant_row();
  // A row was closed.
  void note_vacant(shm::RowIndex row);

  // Makes at least `count` entries available. Errors: kNoMemory, kFull.
  [[nodiscard]] Result<void> reserve_entries(std::uint32_t count);

  // The take-over, or the empty start, is complete: others may trust this home.
  void set_ready();

 private:
  HomeMemory(segment::Owned memory, const shm::HomeOptions& options, std::uint32_t pid,
             shm::Incarnation incarnation);
  bool grow_entries();
  Result<void> add_entries(std::uint32_t to);

  segment::Owned memory_;
  std::vector<shm::EntryIndex> free_stack_;
  std::vector<shm::RowIndex> vacant_rows_;  // each once, and some that were opened since
  std::bitset<shm::kMaxRows> is_noted_;     // of each row: it is among them
  shm::Home home_;
  shm::Inbox inbox_;
};

}  // namespace beeline::receive
