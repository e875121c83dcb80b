// HK-103, HK-105: each check alone, and the first of two.

#include "src/steward/spawn_checks.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace beeline::steward::test {
namespace {

WantedSpawn sound() {
  WantedSpawn wanted;
  wanted.caller = {7, Role::kLead, 1000};
  wanted.parent = {true, "boss", wanted.caller, "idle", Tier::kTactical, 9, 10};
  wanted.child = {"w", Role::kWorker, Tier::kOperational, std::nullopt};
  return wanted;
}

struct Fault {
  std::function<void(WantedSpawn&)> make;
  ErrorCode code;
  std::string text;
};

// In the order in which the checks are made.
std::vector<Fault> faults() {
  const std::string invalid = "spawn: validation failed: ";
  return {
      {[](auto& s) { s.caller.role = Role::kTask; }, ErrorCode::kDenied,
       "spawn denied: acl: PID 7 (role=task, user=1000) denied action spawn"},
      {[](auto& s) {
         s.parent.actor = {8, Role::kArchitect, 1000};
       },
       ErrorCode::kDenied,
       "spawn denied: acl: PID 8 (role=architect) has no rule for action spawn"},
      {[](auto& s) { s.child.uid = 1001; }, ErrorCode::kDenied,
       "spawn denied: user mismatch: child requests user \"1001\" but parent PID 7 has user "
       "\"1000\" (only kernel can assign different user)"},
      {[](auto& s) { s.child.role = Role::kKernel; }, ErrorCode::kDenied,
       "spawn denied: role kernel is that of pid 1 alone; take one of daemon, agent, architect, "
       "lead, worker, task"},
      {[](auto& s) { s.parent.is_found = false; }, ErrorCode::kNoAgent,
       invalid + "parent boss not found: no agent of this hive is boss; `beeline tree` shows all"},
      {[](auto& s) { s.parent.state = "zombie"; }, ErrorCode::kPeerDead,
       invalid + "parent 7 is zombie and cannot spawn children"},
      {[](auto& s) { s.child.tier = Tier::kStrategic; }, ErrorCode::kInvalid,
       invalid +
           "child cognitive tier strategic exceeds parent tactical (child must be <= parent)"},
      {[](auto& s) { s.parent.children = 10; }, ErrorCode::kFull,
       invalid + "parent 7 has 10 children, max is 10"},
      {[](auto& s) {
         s.parent.tier = s.child.tier = Tier::kStrategic;
         s.child.role = Role::kTask;
       },
       ErrorCode::kInvalid, invalid + "task role cannot have strategic cognitive tier"},
      {[](auto& s) { s.child.name.clear(); }, ErrorCode::kInvalid,
       invalid + "process name is required"},
  };
}

void expect(const WantedSpawn& wanted, const Fault& fault) {
  const auto checked = check_spawn(wanted);
  ASSERT_FALSE(checked) << fault.text;
  EXPECT_EQ(checked.error().text, fault.text);
  EXPECT_EQ(checked.error().code, fault.code) << fault.text;
}

TEST(StewardSpawnChecks, ASoundSpawnPasses) { EXPECT_TRUE(check_spawn(sound())); }

TEST(StewardSpawnChecks, EachFaultHasItsText) {
  for (const Fault& fault : faults()) {
    WantedSpawn wanted = sound();
    fault.make(wanted);
    expect(wanted, fault);
  }
}

TEST(StewardSpawnChecks, TheFirstOfTwoFaultsIsTold) {
  // The second undoes the first: a parent that is not found has no role and no user, and the fault
  // of the task sets role and tiers.
  const std::set<std::pair<std::size_t, std::size_t>> no_pairs = {{1, 4}, {2, 4}, {3, 8}, {6, 8}};
  const auto all = faults();
  for (std::size_t first = 0; first < all.size(); ++first) {
    for (std::size_t second = first + 1; second < all.size(); ++second) {
      if (no_pairs.contains({first, second})) continue;
      WantedSpawn wanted = sound();
      all[first].make(wanted);
      all[second].make(wanted);
      expect(wanted, all[first]);
    }
  }
}

TEST(StewardSpawnChecks, TheKingMayAssignAnotherUserAndHasNoLimitOfZero) {
  WantedSpawn wanted = sound();
  wanted.caller = wanted.parent.actor = {1, Role::kKernel, 0};
  wanted.parent.max_children = 0;
  wanted.parent.children = 5000;
  wanted.child.uid = 1001;
  EXPECT_TRUE(check_spawn(wanted));
}

}  // namespace
}  // namespace beeline::steward::test
