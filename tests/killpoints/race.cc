#include "tests/killpoints/race.h"

#include <algorithm>
#include <chrono>

#include "src/os/event_fd.h"
#include "tests/killpoints/scenario.h"

namespace beeline::killpoints {
namespace {

constexpr wake::WaitPolicy kNoSpin{.spin_ns = 0, .never_sleep = false, .short_first_wait = false};

// A lane that is full, a leased message in a slab, or an empty lane and a message for it.
std::string_view start_of(Race::About about) {
  if (about == Race::About::kSpace) return "send-full/empty";
  return about == Race::About::kSlab ? "done-slab/empty" : "send-inline/empty";
}

std::unique_ptr<Rig> arrange_for(const Race& race) {
  const auto found = std::find_if(scenarios().begin(), scenarios().end(), [&](const Scenario& one) {
    return one.name == start_of(race.about);
  });
  if (found == scenarios().end()) throw RigError{"the scenario that a race begins with has gone"};
  return arrange(*found);
}

}  // namespace

const std::vector<Race>& races() {
  using About = Race::About;
  static const std::vector<Race> all = {
      {"sleep/sender-stands", About::kMessage, false},
      {"sleep/receiver-stands", About::kMessage, true},
      {"space/sender-stands", About::kSpace, true},
      {"space/receiver-stands", About::kSpace, false},
      {"slab/sender-stands", About::kSlab, true},
      {"slab/receiver-stands", About::kSlab, false},
      {"turn/sender-stands", About::kTurn, false},
      {"turn/successor-stands", About::kTurn, true},
  };
  return all;
}

Meeting::Meeting(const Race& race)
    : race_(race),
      rig_(arrange_for(race)),
      bell_(need(os::create_event_fd())),
      no_bells_(need(wake::BellSet::create())),
      waiter_(page(), no_bells_, kNoSpin),
      sleeper_(&rig_->world.receiver()) {
  hang_bell();
  if (race_.about == Race::About::kTurn) make_successor();
  if (race_.about == Race::About::kSlab) {  // the receiver has another message
    rig_->send({});
    rig_->drain();
  }
}

shm::StatusPage& Meeting::page() {
  const auto* const known = rig_->world.find(kReceiverPid, shm::Incarnation(2'000)).bell.page;
  return *reinterpret_cast<shm::StatusPage*>(reinterpret_cast<std::uintptr_t>(known));
}

// The other end knows the bell of the sleeper, in all of its lives.
void Meeting::hang_bell() {
  const int bell = bell_.get();
  rig_->receiver().links().all().front()->set_bell({&page(), bell});
  Life& sender = rig_->sender();
  sender.path = send::SendPath(sender.pid, sender.home().control().reserved_ids,
                               [this, bell](std::uint32_t pid, shm::Incarnation incarnation) {
                                 send::PeerLife found = rig_->world.find(pid, incarnation);
                                 found.bell.event_fd = bell;
                                 found.known = incarnation != unknown_life_;
                                 return found;
                               });
  sender.path.set_directory(rig_->world.directory().view());
  const Life& receiver = rig_->world.receiver();
  sender.path.set_place(*sender.out, receiver.index, receiver.incarnation);
}

// A successor has taken over. Its sender follows its receipts but does not know its bell yet. (A
// sender that turns to receipts has passed a fence by then.)
void Meeting::make_successor() {
  Life& before = rig_->world.receiver();
  sleeper_ = &rig_->world.make_life(before);
  if (auto done = World::inherit(*sleeper_, before, {&rig_->sender()}); !done) {
    throw RigError{done.error().text};
  }
  unknown_life_ = sleeper_->incarnation;
  rig_->world.name(*sleeper_);
  rig_->sender().path.follow(*rig_->sender().out);
}

Image Meeting::image() {
  const bool is_sender = sender_sleeps() == race_.sleeper_stands;
  Image image = is_sender ? rig_->sender().image() : sleeper_->image();
  if (race_.sleeper_stands) image.add(reinterpret_cast<std::byte*>(&page()), sizeof(page()));
  return image;
}

Image Meeting::whole_image() {
  Image image = rig_->world.image();
  image.add(reinterpret_cast<std::byte*>(&page()), sizeof(page()));
  return image;
}

bool Meeting::was_rung() const {
  return os::wait_readable(bell_.get(), std::chrono::nanoseconds::zero());
}

void Meeting::quiet(bool was_rung) {
  os::drain_event(bell_.get());
  if (was_rung) os::signal_event(bell_.get());
}

void Meeting::sleep() {
  waiter_.fall_asleep();
  if (sender_sleeps()) {
    send::OutLink& link = *rig_->sender().out;
    send::SendPath::want_space(link, send::SpaceFor::kWait, true);
    was_seen_ = race_.about == Race::About::kSpace ? link.has_space(shm::Lane::kNormal, false)
                                                   : link.collect_slabs(0);
  } else {
    was_seen_ = !sleeper_->receiver->all_empty();
  }
}

void Meeting::bring() {
  send::SendPath& path = rig_->sender().path;
  send::OutLink& link = *rig_->sender().out;
  switch (race_.about) {
    case Race::About::kMessage:
      rig_->outcome = rig_->post(*rig_->planned.back());
      return;
    case Race::About::kSpace:
      (void)rig_->receiver().drain_turn();
      return;
    case Race::About::kSlab:
      rig_->receiver().done_of_many(rig_->at);
      (void)rig_->receiver().drain_turn();
      return;
    case Race::About::kTurn:
      // A copy is the only message that is followed by neither a fence nor a ring.
      path.write_copy(link, {.payload = rig_->planned.back()->payload, .id = 1}, 1);
      unknown_life_ = shm::kNoIncarnation;
      path.refresh(link);
      return;
  }
}

}  // namespace beeline::killpoints
