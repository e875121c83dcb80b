#pragma once
// The sweeps. Each works on worlds of its own and reports its work and its findings.

#include <optional>

#include "tests/killpoints/judge.h"
#include "tests/killpoints/scenario.h"

namespace beeline::killpoints {

// A violation. Its size is fixed, because it crosses processes.
struct Violation {
  char scenario[96] = {};
  char kind[16] = {};       // kill, real kill, pair, pause
  std::uint64_t step = 0;   // instructions of the operation that had run
  std::uint64_t other = 0;  // of the sender's, in pairs and pauses
  std::uint64_t at = 0;     // offset in the program of the instruction that would be next
  char text[320] = {};
};

struct Tally {
  std::uint64_t prepared = 0;  // of a scenario: distinguishes the state that it begins in
  std::uint64_t points = 0;    // instructions after which the state was judged
  // Different ones, with a copy by the C library counted as one; for a pair: those of the receiver,
  // from each of the sender's.
  std::uint64_t states = 0;
  std::uint64_t sender_states = 0;  // of a pair
  std::uint64_t kills = 0;
  std::uint64_t whole = 0;  // scenarios in which every instruction was killed
  std::uint64_t pairs = 0;
  std::uint64_t pauses = 0;        // stops of one end while the other ran
  std::uint64_t pause_points = 0;  // instructions at which it could have been stopped
  std::uint64_t violations = 0;
  double seconds = 0;  // of one CPU
  Violation first;

  void violate(const std::string& scenario, const char* kind, std::uint64_t step, std::uintptr_t at,
               const std::string& text, std::uint64_t other = 0);
  void add(const Tally& other);
};

inline constexpr std::uint64_t kEvery = UINT64_MAX;

struct Effort {
  // Real kills: at one of so many instructions of a scenario, but at no more than `kills` of them;
  // spread evenly.
  std::uint64_t kill_every = 20;
  std::uint64_t kills = 24;
  // One end stands still after each instruction that changed memory which the other end sees, and
  // after each one with a number that this divides. 0: nowhere.
  std::uint64_t pause_every = 500;
  // In a race: after every n-th instruction behind which something is hidden, before each fence,
  // and at the end, where most is hidden.
  std::uint64_t race_every = 1;
};
inline constexpr Effort kLongEffort{1, kEvery, 1, 1};

// Every instruction of the operation: its state is judged as if both were killed there, or one of
// them.
[[nodiscard]] Tally sweep_scenario(const Scenario& scenario, std::optional<std::uint64_t> only);
// Processes that kill themselves at an instruction of the operation, by SIGKILL: at `most` of them.
[[nodiscard]] Tally kill_in_scenario(const Scenario& scenario, std::uint64_t most);
// Every state that the sender's operation leaves, and every instruction of the receiver's from it,
// with both dead. Then each stands still while the other runs, with both alive.
[[nodiscard]] Tally sweep_pair(const Pair& pair, const Effort& effort);
// One of the two stands still in the middle, at the places that the effort chooses, while the other
// runs.
[[nodiscard]] Tally pause_in(const Pair& pair, const Operation& paused, const Effort& effort);
[[nodiscard]] Tally sweep_standstill(const Standstill& standstill, const Effort& effort);

// The memory that is compared after each instruction of the scenario: all that its actor can write.
[[nodiscard]] Image image_of_actor(Rig& rig, Actor actor);
// Runs `judge` in a process of its own, so that it may change private state, hang or crash.
[[nodiscard]] Finding judge_apart(const std::function<Finding()>& judge);
// The same for a part of a sweep.
[[nodiscard]] Tally tally_apart(const std::function<Tally()>& part);
// Empty, or the text of an exception.
[[nodiscard]] std::string try_to(const std::function<void()>& work);

}  // namespace beeline::killpoints
