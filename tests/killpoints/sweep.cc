#include "tests/killpoints/sweep.h"

#include <dlfcn.h>

#include <algorithm>
#include <functional>
#include <string_view>

#include "tests/killpoints/rig_clock.h"

namespace beeline::killpoints {
namespace {

std::uint64_t offset_of(std::uintptr_t at) {
  Dl_info info{};
  if (at == 0 || ::dladdr(reinterpret_cast<void*>(at), &info) == 0) return at;
  return at - reinterpret_cast<std::uintptr_t>(info.dli_fbase);
}

template <std::size_t kSize>
void copy_text(char (&to)[kSize], std::string_view text) {
  const std::size_t length = std::min(text.size(), kSize - 1);
  text.copy(to, length);
  to[length] = 0;
}

std::uint64_t fingerprint(const std::vector<std::byte>& bytes) {
  const auto* const first = reinterpret_cast<const char*>(bytes.data());
  return std::hash<std::string_view>()({first, bytes.size()});
}

// One operation, stepped to its end, and everything that is needed to judge its states.
class Swept {
 public:
  Swept(const Scenario& scenario)
      : scenario_(scenario),
        rig_(arrange(scenario)),
        own_(image_of_actor(*rig_, scenario.operation->actor)),
        all_(whole_image()),
        initial_(all_.saved()),
        before_(rig_->ledger.fates()),
        recorder_(own_) {
    step_through(*scenario.operation, *rig_, recorder_);
    last_ = all_.saved();
    scenario.operation->after(*rig_);
    after_ = rig_->ledger.fates();
  }

  void judge_all(Tally& tally, std::optional<std::uint64_t> only);

 private:
  [[nodiscard]] Image whole_image() const {
    Image image = rig_->world.image();
    if (scenario_.operation->actor == Actor::kCoordinator) {
      image.add(rig_->world.directory_image(kBookPlaces));
    }
    if (rig_->annals) image.add(rig_->annals->whole());
    return image;
  }
  void restore(std::size_t i) const {
    all_.load(initial_.data());
    own_.load(recorder_.bytes(i));
  }
  [[nodiscard]] Finding judge(std::size_t i) const;
  [[nodiscard]] bool wrote_elsewhere() const;
  void judge_directory(Tally& tally) const;
  void judge_history(Tally& tally) const;

  const Scenario& scenario_;
  std::unique_ptr<Rig> rig_;
  Image own_;
  Image all_;
  std::vector<std::byte> initial_;
  std::vector<std::byte> last_;
  Fates before_;
  Fates after_{};
  StateRecorder recorder_;
};

// One writer for each byte: the operation has only changed bytes of its actor.
bool Swept::wrote_elsewhere() const {
  all_.load(last_.data());
  own_.load(recorder_.bytes(0));
  return !all_.equals(initial_.data());
}

Finding Swept::judge(std::size_t i) const {
  restore(i);
  const bool sender_died = scenario_.operation->actor == Actor::kSender;
  Finding finding = judge_next_receiver(*rig_, before_, !sender_died);
  if (!finding.ok() || !sender_died) return finding;
  restore(i);
  Finding other = judge_apart([&] { return judge_next_sender(*rig_, before_); });
  if (!other.ok()) other.text = "the receiver lives: " + other.text;
  if (other.ok() && other.fates != finding.fates) {
    other.text = "the living receiver and its successor find different messages";
  }
  return other;
}

void Swept::judge_directory(Tally& tally) const {
  bool was_after = false;
  for (std::size_t i = 0; i < recorder_.count(); ++i) {
    restore(i);
    bool is_after = false;
    const Book found = read_book(rig_->world.directory().view());
    auto wrong = judge_book(found, rig_->books.front(), rig_->books.back(), is_after);
    if (wrong.empty() && was_after && !is_after) wrong = "directory: the round before is back";
    was_after = is_after;
    tally.points += recorder_.state(i).steps;
    if (wrong.empty()) continue;
    tally.violate(scenario_.name, "kill", recorder_.state(i).first_step, recorder_.state(i).at,
                  wrong);
  }
}

void Swept::judge_history(Tally& tally) const {
  std::uint64_t head = 0;
  for (std::size_t i = 0; i < recorder_.count(); ++i) {
    restore(i);
    auto wrong = rig_->annals->judge(head);
    if (wrong.empty() && i + 1 == recorder_.count()) wrong = rig_->annals->judge_end();
    tally.points += recorder_.state(i).steps;
    if (wrong.empty()) continue;
    tally.violate(scenario_.name, "kill", recorder_.state(i).first_step, recorder_.state(i).at,
                  wrong);
  }
}

void Swept::judge_all(Tally& tally, std::optional<std::uint64_t> only) {
  tally.states = recorder_.count_outside_copies();
  tally.prepared = fingerprint(initial_);
  const auto violate = [&](std::size_t i, const std::string& text) {
    tally.violate(scenario_.name, "kill", recorder_.state(i).first_step, recorder_.state(i).at,
                  text);
  };
  if (recorder_.overflowed()) violate(0, "more states than can be kept");
  if (wrote_elsewhere()) violate(0, "the operation wrote into a segment that is not its own");
  if (scenario_.operation->actor == Actor::kCoordinator) return judge_directory(tally);
  if (rig_->annals) return judge_history(tally);
  const Course course{before_, after_, scenario_.operation->leases};
  Fates last = before_;
  for (std::size_t i = 0; i < recorder_.count(); ++i) {
    if (only && i != recorder_.at_step(*only)) continue;
    if (only) last = before_;
    const Finding finding = judge(i);
    auto wrong = finding.text;
    if (wrong.empty()) {
      wrong = judge_fates(rig_->ledger, course, finding.fates, last);
    }
    if (wrong.empty() && i + 1 == recorder_.count() && finding.fates != after_) {
      wrong = "I1: the operation has ended, and not all of it is true";
    }
    if (!wrong.empty()) violate(i, wrong);
    last = finding.fates;
    tally.points += recorder_.state(i).steps;
  }
}

}  // namespace

void Tally::violate(const std::string& scenario, const char* kind, std::uint64_t step,
                    std::uintptr_t at, const std::string& text, std::uint64_t other) {
  if (violations++ != 0) return;
  copy_text(first.scenario, scenario);
  copy_text(first.kind, kind);
  copy_text(first.text, text);
  first.step = step;
  first.other = other;
  first.at = offset_of(at);
}

void Tally::add(const Tally& other) {
  if (violations == 0) first = other.first;
  points += other.points;
  states += other.states;
  sender_states += other.sender_states;
  kills += other.kills;
  whole += other.whole;
  pairs += other.pairs;
  pauses += other.pauses;
  pause_points += other.pause_points;
  violations += other.violations;
}

Image image_of_actor(Rig& rig, Actor actor) {
  switch (actor) {
    case Actor::kSender:
      return rig.sender().image();
    case Actor::kReceiver:
      return rig.world.receiver().image();
    case Actor::kSuccessor: {
      Image image = rig.next->image();
      image.add(rig.world.directory_image(0));
      return image;
    }
    case Actor::kCoordinator:
      return rig.world.directory_image(kBookPlaces);
    case Actor::kRecorder:
      return rig.annals->image();
  }
  return {};
}

Tally sweep_scenario(const Scenario& scenario, std::optional<std::uint64_t> only) {
  Tally tally;
  const double start = cpu_seconds();
  Swept(scenario).judge_all(tally, only);
  tally.seconds = cpu_seconds() - start;
  return tally;
}

}  // namespace beeline::killpoints
