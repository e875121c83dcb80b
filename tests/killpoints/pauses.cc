// One end is stopped, not killed: it stands still at an instruction while the other runs from start
// to end, and then goes on. Both live, and no message may be lost.

#include "tests/killpoints/rig_clock.h"
#include "tests/killpoints/stopper.h"
#include "tests/killpoints/sweep.h"

namespace beeline::killpoints {
namespace {

// The places where `paused` stands still, and the work of the other end meanwhile. Counts the
// states as it goes.
class Pauses : public Stopper {
 public:
  Pauses(const Pair& pair, const Operation& paused, std::uint64_t every, Rig& rig, Tally& tally)
      : Stopper(rig.world.image(), pair.name, "pause", tally),
        other_(&paused == pair.sender ? *pair.receiver : *pair.sender),
        every_(every),
        rig_(rig),
        recorder_(image_of_actor(rig, paused.actor)) {}
  [[nodiscard]] const StateRecorder& recorder() const { return recorder_; }

 protected:
  bool is_chosen(std::uint64_t step, std::uintptr_t at) override {
    const std::size_t before = recorder_.count();
    if (step != 0) recorder_.after(step, at);
    if (every_ == 0) return false;
    return step % every_ == 0 || recorder_.count() != before;
  }
  void run_other_end() override { other_.operate(rig_); }

 private:
  const Operation& other_;
  std::uint64_t every_;
  Rig& rig_;
  StateRecorder recorder_;
};

// Both operations have come to their end.
std::string judge_pause(const Pair& pair, const Operation& paused, Rig& rig) {
  rig.is_contended = true;
  pair.sender->after(rig);
  pair.receiver->after(rig);
  // An agent that waits for an answer takes it.
  if (rig.pending.entry != shm::kNoEntry) rig.note_leased(rig.receiver().take_reply(rig.pending));
  if (rig.next != nullptr) rig.world.replace_receiver(*rig.next);
  const Fates after = rig.ledger.fates();
  const Finding finding = judge_living(rig, after);
  auto wrong = finding.text;
  if (wrong.empty()) wrong = judge_fates(rig.ledger, {after, after}, finding.fates, after);
  return wrong.empty() ? wrong : paused.name + " stood: " + wrong;
}

}  // namespace

Tally pause_in(const Pair& pair, const Operation& paused, const Effort& effort) {
  Tally tally;
  const auto rig = arrange(pair);
  Pauses pauses(pair, paused, effort.pause_every, *rig, tally);
  step_through(paused, *rig, pauses);
  if (pauses.was_stopped()) pauses.end([&] { return judge_pause(pair, paused, *rig); });
  tally.states = pauses.recorder().count_outside_copies();
  return tally;
}

Tally sweep_standstill(const Standstill& standstill, const Effort& effort) {
  const double start = cpu_seconds();
  Tally tally = pause_in(standstill.pair, *standstill.paused, effort);
  tally.seconds = cpu_seconds() - start;
  return tally;
}

}  // namespace beeline::killpoints
