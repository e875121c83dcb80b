#pragma once
// Two ends that could miss each other: one goes to sleep, and the other ends its wait.
// Either the sleeper sees that in its last look, or it is rung. Nobody waits here: a sleeper
// without a ring would sleep until its longest sleep is over, which does not count as found. The
// safety net of a successor (src/agent/sleeper.cc) does not count either, because it would hide a
// missing fence.

#include <memory>
#include <string>
#include <vector>

#include "src/os/fd.h"
#include "src/wake/waiter.h"
#include "tests/killpoints/rig.h"

namespace beeline::killpoints {

struct Race {
  enum class About : std::uint8_t {
    kMessage,  // the receiver sleeps, the sender sends
    kSpace,    // the sender sleeps, the receiver makes room in its lane
    kSlab,     // the sender sleeps, the receiver finishes a slab and then drains
    kTurn,     // the successor sleeps; the sender has sent without a ring, and learns of its bell
  };
  std::string name;  // the event/the end that stands still
  About about = About::kMessage;
  bool sleeper_stands = false;
};

[[nodiscard]] const std::vector<Race>& races();

// Both ends of a race, and the bell of the one that sleeps.
class Meeting {
 public:
  explicit Meeting(const Race& race);

  void stand() { race_.sleeper_stands ? sleep() : bring(); }
  void run_other_end() { race_.sleeper_stands ? bring() : sleep(); }
  // The memory that the standing end can write.
  [[nodiscard]] Image image();
  // The memory that either of them can write.
  [[nodiscard]] Image whole_image();
  // The last look has found it, or the sleeper was rung for it.
  [[nodiscard]] bool is_known() const { return was_seen_ || was_rung(); }

  // All processes that stand still share the bell: each starts from the rings before.
  [[nodiscard]] bool was_rung() const;
  void quiet(bool was_rung);

 private:
  [[nodiscard]] bool sender_sleeps() const {
    return race_.about == Race::About::kSpace || race_.about == Race::About::kSlab;
  }
  [[nodiscard]] shm::StatusPage& page();
  void hang_bell();
  void make_successor();
  void sleep();  // announces its sleep, and looks once more
  void bring();

  const Race& race_;
  std::unique_ptr<Rig> rig_;
  os::UniqueFd bell_;
  wake::BellSet no_bells_;
  wake::Waiter waiter_;
  Life* sleeper_ = nullptr;        // the one that receives
  shm::Incarnation unknown_life_;  // the life with a bell that the sender does not know yet
  bool was_seen_ = false;
};

}  // namespace beeline::killpoints
