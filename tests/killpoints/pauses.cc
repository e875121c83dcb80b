// One end is stopped, not killed: it stands still at an instruction while the other runs from start
// to end, and then goes on. Both live, and nothing may be lost.

#include <algorithm>

#include "tests/killpoints/rig_clock.h"
#include "tests/killpoints/sweep.h"

namespace beeline::killpoints {
namespace {

// Runs something of the other end where the memory is in this state, counted from 0. Not where so
// many instructions have run: the first call of a function of a library takes some more.
class Pauser : public StepObserver {
 public:
  Pauser(const Image& image, std::size_t state, const std::function<void()>& meanwhile)
      : image_(image), left_(state), last_(image.saved()), meanwhile_(meanwhile) {}
  void start() override {
    if (left_ == 0) run();
  }
  void after(std::uint64_t /*step*/, std::uintptr_t /*at*/) override {
    if (has_run_) return stop_stepping();
    if (image_.equals(last_.data())) return;
    image_.save(last_.data());
    if (--left_ == 0) run();
  }
  [[nodiscard]] bool has_run() const { return has_run_; }

 private:
  void run() {
    has_run_ = true;
    meanwhile_();
  }

  Image image_;
  std::size_t left_;  // states until then
  std::vector<std::byte> last_;
  const std::function<void()>& meanwhile_;
  bool has_run_ = false;
};

const Operation& other_of(const Pair& pair, const Operation& paused) {
  return &paused == pair.sender ? *pair.receiver : *pair.sender;
}

// `paused` stands still in one of its states while the other end runs from start to end.
Tally pause_at(const Pair& pair, const Operation& paused, std::size_t state, std::uint64_t step) {
  Tally tally;
  const auto rig = arrange(pair);
  rig->is_contended = true;
  const std::function<void()> meanwhile = [&] { other_of(pair, paused).operate(*rig); };
  Pauser pauser(image_of_actor(*rig, paused.actor), state, meanwhile);
  step_through(paused, *rig, pauser);
  if (!pauser.has_run()) throw RigError{"it never came to the state in which it was to stand"};
  pair.sender->after(*rig);
  pair.receiver->after(*rig);
  // Whoever waits for an answer takes it.
  if (rig->pending.entry != shm::kNoEntry) {
    rig->note_leased(rig->receiver().take_reply(rig->pending));
  }
  if (rig->next != nullptr) rig->world.replace_receiver(*rig->next);
  const Fates after = rig->ledger.fates();
  const Finding finding = judge_living(*rig, after);
  auto wrong = finding.text;
  if (wrong.empty()) wrong = judge_fates(rig->ledger, {after, after}, finding.fates, after);
  if (!wrong.empty()) tally.violate(pair.name, "pause", step, 0, paused.name + " stood: " + wrong);
  ++tally.pauses;
  return tally;
}

}  // namespace

Tally pause_in(const Pair& pair, const Operation& paused, const Effort& effort) {
  const auto rig = arrange(pair);
  StateRecorder recorder(image_of_actor(*rig, paused.actor));
  step_through(paused, *rig, recorder);
  Tally tally;
  tally.states = recorder.count_outside_copies();
  const std::uint64_t count = std::min<std::uint64_t>(recorder.count(), effort.pauses);
  for (std::uint64_t n = 0; n < count; ++n) {
    const std::size_t state = n * recorder.count() / count;
    const std::uint64_t step = recorder.state(state).first_step;
    tally.add(tally_apart([&] { return pause_at(pair, paused, state, step); }));
  }
  return tally;
}

Tally sweep_standstill(const Standstill& standstill, const Effort& effort) {
  const double start = cpu_seconds();
  Tally tally = pause_in(standstill.pair, *standstill.paused, effort);
  tally.seconds = cpu_seconds() - start;
  return tally;
}

}  // namespace beeline::killpoints
