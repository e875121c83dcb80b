#include "tests/killpoints/store_buffer.h"

#include "tests/killpoints/rig_clock.h"
#include "tests/killpoints/stopper.h"

namespace beeline::killpoints {
namespace {

// Whether the instruction empties the store buffer: one with a lock prefix, or mfence. The exchange
// with memory that needs no prefix is no fence of ours.
bool is_fence(std::uintptr_t at) {
  const auto* const code = reinterpret_cast<const unsigned char*>(at);
  if (code[0] == 0xf0) return true;
  return code[0] == 0x0f && code[1] == 0xae && code[2] == 0xf0;
}

// Follows what the end that is stepped has stored, and what of it others see.
class StoreBuffer : public Stopper {
 public:
  StoreBuffer(const Race& race, Meeting& meeting, std::uint64_t every, Tally& tally)
      : Stopper(meeting.whole_image(), race.name, "race", tally),
        own_(meeting.image()),
        every_(every),
        meeting_(meeting),
        recorder_(own_),
        seen_(own_.saved()),
        stored_(own_.saved()) {}

  [[nodiscard]] std::uint64_t states() const { return recorder_.count_outside_copies(); }
  // At so many instructions something was hidden.
  [[nodiscard]] std::uint64_t holding() const { return holding_; }

 protected:
  bool is_chosen(std::uint64_t step, std::uintptr_t at) override {
    if (step != 0) recorder_.after(step, at);
    if (is_fence_) own_.save(seen_.data());
    is_fence_ = step != 0 && is_fence(at);
    const bool holds = !own_.equals(seen_.data());
    if (holds) ++holding_;
    return every_ != 0 && (holds || step % every_ == 0);
  }
  void run_other_end() override {
    own_.save(stored_.data());
    own_.load(seen_.data());
    meeting_.run_other_end();
    own_.load(stored_.data());
  }
  void before_child() override { was_rung_ = meeting_.was_rung(); }
  void after_child() override { meeting_.quiet(was_rung_); }

 private:
  Image own_;
  std::uint64_t every_;
  Meeting& meeting_;
  StateRecorder recorder_;
  std::vector<std::byte> seen_;    // by others
  std::vector<std::byte> stored_;  // by its own
  bool is_fence_ = false;          // the next instruction
  bool was_rung_ = false;
  std::uint64_t holding_ = 0;
};

std::string judge_meeting(const Meeting& meeting) {
  if (meeting.is_known()) return {};
  return "I6: one sleeps, and nobody has rung for what it did not see";
}

}  // namespace

Tally sweep_race(const Race& race, const Effort& effort) {
  Tally tally;
  const double start = cpu_seconds();
  Meeting meeting(race);
  StoreBuffer buffer(race, meeting, effort.pause_every, tally);
  step_through([](void* context) { static_cast<Meeting*>(context)->stand(); }, &meeting, buffer);
  if (buffer.was_stopped()) buffer.end([&] { return judge_meeting(meeting); });
  if (buffer.holding() == 0) tally.violate(race.name, "rig", 0, 0, "no store was ever hidden");
  if (effort.pause_every != 0 && tally.pauses < buffer.holding()) {
    tally.violate(race.name, "rig", 0, 0, "it was not stopped wherever a store was hidden");
  }
  tally.states = buffer.states();
  tally.seconds = cpu_seconds() - start;
  return tally;
}

}  // namespace beeline::killpoints
