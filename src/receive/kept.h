#pragma once
// The messages that stay in the table although no receive hands them out: dead letters, tasks, and
// answers and acknowledgements that nobody waits for. Each of these kinds is bounded.

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "src/receive/entries.h"
#include "src/receive/expiry.h"
#include "src/receive/stash.h"
#include "src/receive/task_queue.h"

namespace beeline::receive {

// A message whose sender asked for its fate, and that was buried.
struct Refused {
  std::uint64_t id = 0;
  bool is_question = false;
  std::string_view why{};  // lives for ever
};

// Hears of a leased message that becomes a dead letter now.
using Burial = std::function<void(shm::EntryIndex, shm::DeadReason)>;

class Kept {
 public:
  // Both outlive it.
  Kept(Entries& entries, Expiry& expiry) : entries_(entries), expiry_(expiry), tasks_(entries) {}

  // ---- Dead letters ----
  // Makes a leased message a dead letter.
  void bury(shm::EntryIndex at, shm::DeadReason reason);
  // From now on this call hears of each burial; an empty one hears none.
  void on_burial(Burial hear) { hear_burial_ = std::move(hear); }
  // Notes that the sender must be told, if it asked for the fate of the message. `why` lives for
  // ever.
  void refuse(shm::EntryIndex at, std::string_view why);
  void refuse(shm::EntryIndex at, shm::DeadReason reason) { refuse(at, shm::to_string(reason)); }
  // The messages refused since the last call of which a sender must be told.
  [[nodiscard]] std::vector<Refused> take_refused();
  [[nodiscard]] bool has_refused() const { return !refused_.empty(); }
  // True when a leased entry must not be handed out. It is a dead letter then, or gone.
  [[nodiscard]] bool drop_unfit(shm::EntryIndex at);
  // Puts a leased message back where it came from, unless its sender has taken it back.
  void requeue(shm::EntryIndex at, shm::Cost cost);
  // After a take-over: lets go of letters that are too many.
  void drop_surplus_letters();

  // ---- The stash ----
  // A message was put that belongs there. Until the next settle() it may not be committed.
  void add_new(shm::EntryIndex at);
  // The same of one that is committed.
  void put_aside(shm::EntryIndex at);
  // Takes it out of the stash and leases it.
  void take_aside(shm::EntryIndex at);
  // Takes it out of the stash or of the tasks, if it is there. Its entry stays as it is.
  void forget(shm::EntryIndex at) {
    stash_.remove(at);
    tasks_.remove(at);
  }
  [[nodiscard]] bool has_new() const { return !newly_kept_.empty(); }
  // Bounds the stash after add_new(). REQUIRES: it is committed.
  void settle();
  // Leases the oldest stashed message that `wanted(item)` and that is fit; kNoEntry if there is
  // none.
  template <typename Wanted>
  [[nodiscard]] shm::EntryIndex take_stashed(Wanted&& wanted);
  [[nodiscard]] const Stash& stash() const { return stash_; }
  // Leases the task that is to be done next and that is fit; kNoEntry if there is none.
  [[nodiscard]] shm::EntryIndex take_task();
  [[nodiscard]] TaskQueue& tasks() { return tasks_; }
  [[nodiscard]] const TaskQueue& tasks() const { return tasks_; }
  // Acknowledgements that were let go of because nobody fetched them.
  [[nodiscard]] std::uint64_t acks_unread() const { return acks_unread_; }

 private:
  void keep_aside(shm::EntryIndex at);
  void judge_task(shm::EntryIndex at);
  [[nodiscard]] bool unstash(shm::EntryIndex at);
  void discard(shm::EntryIndex at);
  [[nodiscard]] std::size_t most_stashed() const { return entries_.table().capacity() / 4; }
  void keep_stash_bounded();
  void keep_slabs_bounded(shm::EntryIndex at);
  void keep_dead_letters_bounded();

  Entries& entries_;
  Expiry& expiry_;
  Stash stash_;
  TaskQueue tasks_;
  std::vector<shm::EntryIndex> newly_kept_;  // in the turn of a link that goes on
  std::vector<Refused> refused_;
  Burial hear_burial_;
  std::uint64_t acks_unread_ = 0;
};

template <typename Wanted>
shm::EntryIndex Kept::take_stashed(Wanted&& wanted) {
  for (;;) {
    const shm::EntryIndex at = stash_.find_if(wanted);
    if (at == shm::kNoEntry) return at;
    take_aside(at);
    if (!drop_unfit(at)) return at;
  }
}

}  // namespace beeline::receive
