// Both ends at once: both killed, each at an instruction of its own; or one standing still at an
// instruction while the other runs.

#include <algorithm>

#include "tests/killpoints/rig_clock.h"
#include "tests/killpoints/sweep.h"

namespace beeline::killpoints {
namespace {

// Runs something of the other end at one instruction.
class Pauser : public StepObserver {
 public:
  Pauser(std::uint64_t step, const std::function<void()>& meanwhile)
      : step_(step), meanwhile_(meanwhile) {}
  void after(std::uint64_t step, std::uintptr_t /*at*/) override {
    if (step != step_) return;
    meanwhile_();
    stop_stepping();
  }

 private:
  std::uint64_t step_;
  const std::function<void()>& meanwhile_;
};

// The instructions that led to each state.
std::vector<std::uint64_t> steps_of(const StateRecorder& recorder) {
  std::vector<std::uint64_t> steps;
  for (std::size_t i = 0; i < recorder.count(); ++i) steps.push_back(recorder.state(i).first_step);
  return steps;
}

// The sender's half, stepped once.
class PairSweep {
 public:
  explicit PairSweep(const Pair& pair)
      : pair_(pair),
        rig_(arrange(pair)),
        sender_image_(rig_->sender().image()),
        receiver_image_(rig_->world.receiver().image()),
        all_(rig_->world.image()),
        initial_(all_.saved()),
        before_(rig_->ledger.fates()),
        recorder_(sender_image_) {
    step_through(*pair.sender, *rig_, recorder_);
    pair.sender->after(*rig_);
    sent_ = rig_->ledger.fates();
  }

  [[nodiscard]] std::size_t sender_states() const { return recorder_.count(); }
  [[nodiscard]] std::vector<std::uint64_t> sender_steps() const { return steps_of(recorder_); }
  // All of the receiver's instructions from sender state `i`. In a process of its own.
  [[nodiscard]] Tally from(std::size_t i);

 private:
  void restore(std::size_t i) const {
    all_.load(initial_.data());
    sender_image_.load(recorder_.bytes(i));
  }

  const Pair& pair_;
  std::unique_ptr<Rig> rig_;
  Image sender_image_;
  Image receiver_image_;
  Image all_;
  std::vector<std::byte> initial_;
  Fates before_;
  Fates sent_{};
  StateRecorder recorder_;
};

Tally PairSweep::from(std::size_t i) {
  Tally tally;
  const std::uint64_t sender_step = recorder_.state(i).first_step;
  restore(i);
  const Finding base = judge_next_receiver(*rig_, before_, false);
  if (!base.ok()) tally.violate(pair_.name, "pair", 0, 0, base.text, sender_step);
  for (std::size_t m = 0; m < rig_->ledger.size(); ++m) {
    rig_->ledger.messages()[m].fate = base.fates[m];
  }
  restore(i);
  StateRecorder recorder(receiver_image_);
  step_through(*pair_.receiver, *rig_, recorder);
  pair_.receiver->after(*rig_);
  const Course course{base.fates, rig_->ledger.fates(), pair_.receiver->leases};
  tally.states = recorder.count();
  Fates last = base.fates;
  for (std::size_t j = 0; j < recorder.count(); ++j) {
    restore(i);
    receiver_image_.load(recorder.bytes(j));
    const Finding finding = judge_next_receiver(*rig_, base.fates, false);
    auto wrong = finding.text;
    if (wrong.empty()) {
      wrong = judge_fates(rig_->ledger, course, finding.fates, last);
    }
    const State& state = recorder.state(j);
    if (!wrong.empty()) {
      tally.violate(pair_.name, "pair", state.first_step, state.at, wrong, sender_step);
    }
    last = finding.fates;
    tally.pairs += state.steps;
  }
  return tally;
}

// `paused` stands still after `step` instructions while the other end runs from start to end.
Tally pause_at(const Pair& pair, const Operation& paused, const Operation& other,
               std::uint64_t step) {
  Tally tally;
  const auto rig = arrange(pair);
  const std::function<void()> meanwhile = [&] { other.operate(*rig); };
  Pauser pauser(step, meanwhile);
  if (step == 0) meanwhile();
  step_through(paused, *rig, pauser);
  pair.sender->after(*rig);
  pair.receiver->after(*rig);
  const Fates after = rig->ledger.fates();
  const Finding finding = judge_living(*rig, after);
  auto wrong = finding.text;
  if (wrong.empty()) wrong = judge_fates(rig->ledger, {after, after}, finding.fates, after);
  if (!wrong.empty()) tally.violate(pair.name, "pause", step, 0, paused.name + " stood: " + wrong);
  ++tally.pauses;
  return tally;
}

std::vector<std::uint64_t> receiver_steps(const Pair& pair) {
  const auto rig = arrange(pair);
  StateRecorder recorder(rig->world.receiver().image());
  step_through(*pair.receiver, *rig, recorder);
  return steps_of(recorder);
}

}  // namespace

Tally sweep_pair(const Pair& pair, const Effort& effort) {
  Tally tally;
  const double start = cpu_seconds();
  PairSweep sweep(pair);
  for (std::size_t i = 0; i < sweep.sender_states(); ++i) {
    tally.add(tally_apart([&] { return sweep.from(i); }));
  }
  const auto pause = [&](const Operation& paused, const Operation& other,
                         const std::vector<std::uint64_t>& steps) {
    const std::size_t count = std::min(steps.size(), effort.pauses);
    for (std::size_t n = 0; n < count; ++n) {
      const std::uint64_t step = steps[n * steps.size() / count];
      tally.add(tally_apart([&] { return pause_at(pair, paused, other, step); }));
    }
  };
  pause(*pair.sender, *pair.receiver, sweep.sender_steps());
  pause(*pair.receiver, *pair.sender, receiver_steps(pair));
  tally.seconds = cpu_seconds() - start;
  return tally;
}

}  // namespace beeline::killpoints
