#include "tests/killpoints/store_buffer.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "src/os/event_fd.h"
#include "src/wake/waiter.h"
#include "tests/killpoints/rig_clock.h"

namespace beeline::killpoints {
namespace {

constexpr wake::WaitPolicy kNoSpin{.spin_ns = 0, .never_sleep = false, .short_first_wait = false};

// Whether the instruction empties the store buffer: one with a lock prefix, or mfence. The exchange
// with memory that needs no prefix is no fence of ours.
bool is_fence(std::uintptr_t at) {
  const auto* const code = reinterpret_cast<const unsigned char*>(at);
  if (code[0] == 0xf0) return true;
  return code[0] == 0x0f && code[1] == 0xae && code[2] == 0xf0;
}

// Both ends, and the bell of the one that sleeps.
class Meeting {
 public:
  explicit Meeting(const Race& race)
      : race_(race),
        rig_(arrange_for(race)),
        bells_(need(wake::BellSet::create())),
        waiter_(page(), bells_, kNoSpin) {
    hang_bell();
  }

  // A bell that nobody has rung.
  void hang_bell() {
    event_ = need(os::create_event_fd());
    Life& sender = rig_->sender();
    if (race_.sender_sleeps) {
      rig_->receiver().links().front()->bell = {&page(), event_.get()};
    } else {
      sender.path.follow(*sender.out);
      sender.out->bell = {&page(), event_.get()};
    }
  }
  // What the one that stands still can write.
  [[nodiscard]] Image image() {
    const bool is_sender = race_.sender_sleeps == race_.sleeper_stands;
    Image image = is_sender ? rig_->sender().image() : rig_->world.receiver().image();
    if (race_.sleeper_stands) image.add(reinterpret_cast<std::byte*>(&page()), sizeof(page()));
    return image;
  }
  // All that either of them can write.
  [[nodiscard]] Image whole_image() {
    Image image = rig_->world.image();
    image.add(reinterpret_cast<std::byte*>(&page()), sizeof(page()));
    return image;
  }
  void stand() { race_.sleeper_stands ? sleep() : bring(); }
  void run_meanwhile() { race_.sleeper_stands ? bring() : sleep(); }
  // It was found, or somebody was rung for it.
  [[nodiscard]] bool is_known() const {
    return was_seen_ || os::wait_readable(event_.get(), std::chrono::nanoseconds::zero());
  }

 private:
  static std::unique_ptr<Rig> arrange_for(const Race& race);
  [[nodiscard]] shm::StatusPage& page() {
    const auto* const known = rig_->world.find(kReceiverPid, 2'000).bell.page;
    return *reinterpret_cast<shm::StatusPage*>(reinterpret_cast<std::uintptr_t>(known));
  }
  // Says that it sleeps, and looks once more.
  void sleep() {
    waiter_.fall_asleep();
    if (race_.sender_sleeps) {
      send::OutLink& link = *rig_->sender().out;
      send::SendPath::want_space(link, send::SpaceFor::kWait, true);
      was_seen_ = link.has_space(shm::Lane::kNormal, false);
    } else {
      was_seen_ = !rig_->receiver().all_empty();
    }
  }
  void bring() {
    if (race_.sender_sleeps) {
      static_cast<void>(rig_->receiver().drain_turn());
    } else {
      rig_->outcome = rig_->post(*rig_->planned.back());
    }
  }

  const Race& race_;
  std::unique_ptr<Rig> rig_;
  os::UniqueFd event_;
  wake::BellSet bells_;
  wake::Waiter waiter_;
  bool was_seen_ = false;
};

// A lane that is full, or one that is empty and a message for it.
std::unique_ptr<Rig> Meeting::arrange_for(const Race& race) {
  const auto is_wanted = [&](const Scenario& one) {
    return one.name == (race.sender_sleeps ? "send-full/empty" : "send-inline/empty");
  };
  const auto found = std::find_if(scenarios().begin(), scenarios().end(), is_wanted);
  return arrange(*found);
}

// Follows what the stopped end has stored, and what of it others see. At one instruction, if any,
// it hides the rest and lets the other end run.
class StoreBuffer : public StepObserver {
 public:
  StoreBuffer(const Image& own, std::uint64_t step, Meeting& meeting)
      : own_(own), step_(step), meeting_(meeting), seen_(own.saved()), stored_(own.saved()) {}

  void after(std::uint64_t step, std::uintptr_t at) override {
    if (is_fence_) own_.save(seen_.data());
    is_fence_ = is_fence(at);
    if (step_ == kNever) {
      if (step < kMostSteps) holds_[step] = !own_.equals(seen_.data());
      steps_ = step;
    }
    if (step != step_) return;
    own_.save(stored_.data());
    own_.load(seen_.data());
    meeting_.run_meanwhile();
    own_.load(stored_.data());
    stop_stepping();
  }
  static constexpr std::uint64_t kNever = 0;
  static constexpr std::uint64_t kMostSteps = 200'000;
  // The instructions after which something was stored that others need not see: about kMost of
  // them, spread evenly, and those before each fence and at the end, where most was hidden and all
  // was looked at.
  [[nodiscard]] std::vector<std::uint64_t> holding() const {
    constexpr std::int64_t kMost = 20;
    const auto count = std::count(holds_.begin(), holds_.end(), true);
    std::vector<std::uint64_t> steps;
    std::int64_t number = 0;
    for (std::uint64_t step = 1; step < steps_; ++step) {
      if (!holds_[step]) continue;
      const bool is_last = !holds_[step + 1] || step + 1 == steps_;
      if (++number % (count / kMost + 1) == 0 || is_last) steps.push_back(step);
    }
    return steps;
  }
  [[nodiscard]] bool overflowed() const { return steps_ >= kMostSteps; }

 private:
  Image own_;
  std::uint64_t step_;
  Meeting& meeting_;
  std::vector<std::byte> seen_;    // by others
  std::vector<std::byte> stored_;  // by its own
  bool is_fence_ = false;          // the next instruction
  std::uint64_t steps_ = 0;
  std::array<bool, kMostSteps> holds_{};
};

void stand(Meeting& meeting, StepObserver& observer) {
  step_through([](void* context) { static_cast<Meeting*>(context)->stand(); }, &meeting, observer);
}

Tally stand_at(const Race& race, Meeting& meeting, std::uint64_t step) {
  Tally tally;
  meeting.hang_bell();
  StoreBuffer buffer(meeting.image(), step, meeting);
  stand(meeting, buffer);
  tally.pauses = 1;
  if (!meeting.is_known()) {
    tally.violate(race.name, "race", step, 0,
                  "I8: one sleeps, and nobody has rung for what it did not see");
  }
  return tally;
}

}  // namespace

const std::vector<Race>& races() {
  static const std::vector<Race> all = {
      {"sleep/sender-stands", false, false},
      {"sleep/receiver-stands", false, true},
      {"space/sender-stands", true, true},
      {"space/receiver-stands", true, false},
  };
  return all;
}

Tally sweep_race(const Race& race) {
  Tally tally;
  const double start = cpu_seconds();
  std::vector<std::uint64_t> steps;
  {
    Meeting meeting(race);
    StateRecorder recorder(meeting.image());
    stand(meeting, recorder);
    tally.states = recorder.count_outside_copies();
  }
  {
    Meeting meeting(race);
    StoreBuffer buffer(meeting.image(), StoreBuffer::kNever, meeting);
    stand(meeting, buffer);
    steps = buffer.holding();
    if (buffer.overflowed()) tally.violate(race.name, "rig", 0, 0, "too many instructions");
  }
  if (steps.empty()) tally.violate(race.name, "rig", 0, 0, "no store was ever hidden");
  Meeting meeting(race);
  const Image all = meeting.whole_image();
  const auto initial = all.saved();
  for (const std::uint64_t step : steps) {
    if (tally.violations != 0) break;
    all.load(initial.data());
    tally.add(tally_apart([&] { return stand_at(race, meeting, step); }));
  }
  tally.seconds = cpu_seconds() - start;
  return tally;
}

}  // namespace beeline::killpoints
