#pragma once

// The children that the steward knows, and their rows in the store. The ended ones stay for a
// while, so that their ends can be asked for.

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include <beeline/result.h>

#include "src/steward/child.h"
#include "src/steward/store.h"

namespace beeline::steward {

class Roster {
 public:
  // The store outlives this object.
  explicit Roster(Store& store) : store_(store) {}

  // Notes a child before anything is done for it. Errors: those of the store.
  [[nodiscard]] Result<Child*> add(Child child);
  // A child of an earlier steward.
  Child& take(Child child);
  // Gives a child the number that the coordinator made for it.
  void set_pid(Child& child, Pid pid);
  // Writes a change down. A change that cannot be written is logged; it is in memory.
  void save(const Child& child);
  // Takes a child out, here and in the store, and gives it back. REQUIRES: there is such a child.
  Child take_out(std::int64_t id);
  // Takes a child out and drops it, if there is one. REQUIRES: it has no process.
  void remove(std::int64_t id);

  [[nodiscard]] Child* find(std::int64_t id);
  [[nodiscard]] Child* find_pid(Pid pid);
  [[nodiscard]] Child* find_process(std::int32_t os_pid);
  // The newest child of this name, or the one with this pid in decimal.
  [[nodiscard]] Child* find_text(std::string_view text);
  [[nodiscard]] Child* find_request(const RequestTag& request);
  // All, the oldest first.
  [[nodiscard]] std::vector<Child*> all();
  // The ended ones that are too old or too many.
  [[nodiscard]] std::vector<Child*> outdated(std::int64_t now_unix_ns);

 private:
  Store& store_;
  std::map<std::int64_t, Child> children_;
  std::map<Pid, std::int64_t> by_pid_;
};

}  // namespace beeline::steward
