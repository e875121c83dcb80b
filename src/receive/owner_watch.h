#pragma once
// Which in-links have an owner that lives, which an owner that has ended, and which of the latter
// are to be looked after. The living are watched in each turn; the ended cost nothing in a turn in
// which nothing happens to them.

#include <cstddef>
#include <vector>

#include "src/receive/in_link.h"

namespace beeline::receive {

class OwnerWatch {
 public:
  void add(InLink& link);
  void remove(InLink& link);
  // To be called after `link.owner_gone()` has changed.
  void sort(InLink& link);
  // Something has happened to a link of the ended: it may have faded.
  void call(InLink& link) {
    if (link.owner_gone() && !link.watched().is_called) call_now(link);
  }

  // In no order. A link that sort() moves away while they are visited from the back leaves no gap.
  [[nodiscard]] const std::vector<InLink*>& living() const { return living_; }
  [[nodiscard]] std::size_t ended() const { return ended_.size(); }
  [[nodiscard]] std::size_t called() const { return called_.size(); }
  // One that was called, and is not any more; null if there is none.
  [[nodiscard]] InLink* next_called();
  // A link of the ended, each in its turn; null if there is none.
  [[nodiscard]] InLink* next_ended();

 private:
  void call_now(InLink& link);
  void place(InLink& link);
  void displace(InLink& link);

  std::vector<InLink*> living_;
  std::vector<InLink*> ended_;
  std::vector<InLink*> called_;
  std::size_t turn_ = 0;  // in `ended_`
};

}  // namespace beeline::receive
