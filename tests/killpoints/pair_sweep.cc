// Both ends at once, both killed, each at an instruction of its own.

#include "tests/killpoints/rig_clock.h"
#include "tests/killpoints/sweep.h"

namespace beeline::killpoints {
namespace {

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
  [[nodiscard]] std::size_t sender_states_outside_copies() const {
    return recorder_.count_outside_copies();
  }
  // Only the first state of a copy counts.
  [[nodiscard]] bool counts(std::size_t i) const { return !recorder_.state(i).same_copy; }
  // All instructions of the receiver from sender state `i`. Needs a process of its own.
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
  tally.states = counts(i) ? recorder.count_outside_copies() : 0;
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

}  // namespace

Tally sweep_pair(const Pair& pair, const Effort& effort) {
  Tally tally;
  const double start = cpu_seconds();
  PairSweep sweep(pair);
  for (std::size_t i = 0; i < sweep.sender_states(); ++i) {
    tally.add(tally_apart([&] { return sweep.from(i); }));
  }
  tally.sender_states = sweep.sender_states_outside_copies();
  for (const Operation* const paused : {pair.sender, pair.receiver}) {
    Tally pauses = pause_in(pair, *paused, effort);
    pauses.states = 0;  // the states of the pair are counted
    tally.add(pauses);
  }
  tally.seconds = cpu_seconds() - start;
  return tally;
}

}  // namespace beeline::killpoints
