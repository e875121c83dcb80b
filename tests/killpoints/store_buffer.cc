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

// Follows the stores of the stepped end, and the part of them that others see.
class StoreBuffer : public Stopper {
 public:
  StoreBuffer(const Race& race, Meeting& meeting, const Effort& effort, Tally& tally)
      : Stopper(meeting.whole_image(), race.name, "race", tally),
        own_(meeting.image()),
        effort_(effort),
        meeting_(meeting),
        recorder_(own_),
        seen_(own_.saved()),
        stored_(own_.saved()) {}

  [[nodiscard]] std::uint64_t states() const { return recorder_.count_outside_copies(); }
  [[nodiscard]] std::uint64_t stops_with_hidden() const { return stops_with_hidden_; }

 protected:
  bool is_chosen(std::uint64_t step, std::uintptr_t at) override {
    if (step != 0) recorder_.after(step, at);
    if (is_fence_) own_.save(seen_.data());
    is_fence_ = step != 0 && is_fence(at);
    if (effort_.pause_every == 0) return false;
    if (!holds()) return step % effort_.pause_every == 0;
    return is_fence_ || ++holding_ % effort_.race_every == 0;
  }
  bool is_chosen_at_end() override {
    if (is_fence_) own_.save(seen_.data());
    return effort_.pause_every != 0 && holds();
  }
  void run_other_end() override {
    own_.save(stored_.data());
    own_.load(seen_.data());
    meeting_.run_other_end();
    own_.load(stored_.data());
  }
  void before_child() override {
    was_rung_ = meeting_.was_rung();
    if (holds()) ++stops_with_hidden_;
  }
  void after_child() override { meeting_.quiet(was_rung_); }

 private:
  [[nodiscard]] bool holds() const { return !own_.equals(seen_.data()); }

  Image own_;
  Effort effort_;
  Meeting& meeting_;
  StateRecorder recorder_;
  std::vector<std::byte> seen_;    // by others
  std::vector<std::byte> stored_;  // by its own
  bool is_fence_ = false;          // the next instruction
  bool was_rung_ = false;
  std::uint64_t holding_ = 0;  // instructions after which something was hidden
  std::uint64_t stops_with_hidden_ = 0;
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
  StoreBuffer buffer(race, meeting, effort, tally);
  step_through([](void* context) { static_cast<Meeting*>(context)->stand(); }, &meeting, buffer);
  if (buffer.was_stopped()) buffer.end([&] { return judge_meeting(meeting); });
  if (effort.pause_every != 0 && buffer.stops_with_hidden() == 0) {
    tally.violate(race.name, "rig", 0, 0, "it never stood still while a store was hidden");
  }
  tally.states = buffer.states();
  tally.seconds = cpu_seconds() - start;
  return tally;
}

}  // namespace beeline::killpoints
