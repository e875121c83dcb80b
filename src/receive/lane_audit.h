#pragma once
// Looks in the lanes for numbers that no sender may have stored.

#include "src/receive/entries.h"

namespace beeline::receive {

class LaneAudit {
 public:
  explicit LaneAudit(Entries& entries) : entries_(entries) {}

  // Looks at the next slot of each lane of the links whose owners live, and quarantines a link that
  // holds such a number; to be called now and then. In an inherited link the number may be the work
  // of a life before ours that was fenced and still ran: the reader goes on with the rest.
  void look_at_living();
  // The same for one link, also after its owner has ended. True: the audit has not come to its end.
  bool look_at(InLink& link);
  // The last audit has not come to the end of the overwritten slots: the next one goes on with it.
  [[nodiscard]] bool is_skipping() const { return skipping_; }

 private:
  void audit_lane(InLink& link, shm::Lane lane);
  [[nodiscard]] bool skip_overwritten(InLink& link, shm::Lane lane);

  Entries& entries_;
  bool skipping_ = false;
};

}  // namespace beeline::receive
