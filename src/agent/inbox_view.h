#pragma once
// The inbox of an agent as its user sees it.

#include <cstddef>
#include <vector>

#include <beeline/agent.h>

#include "src/agent/debts.h"
#include "src/agent/intake.h"

namespace beeline {

// For one call.
class InboxView {
 public:
  struct Needs {
    OwnLife& life;
    receive::Receiver& receiver;
    Announcements& announcements;
    Intake& intake;
    Sleeper& sleeper;
  };
  explicit InboxView(const Needs& needs) : with_(needs) {}

  [[nodiscard]] std::vector<InboxItem> items(std::size_t limit, const Filter& filter);
  // Debts and notices count themselves how many they have dropped.
  [[nodiscard]] InboxCounters counters(const Debts& debts, const Notices& notices);

 private:
  void bury_expired();
  [[nodiscard]] InboxItem describe(shm::EntryIndex entry) const;

  Needs with_;
};

}  // namespace beeline
