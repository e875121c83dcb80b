#include "tests/model/driver.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <set>
#include <utility>

#include "src/control/letters_client.h"
#include "tests/support/hive_test.h"

namespace beeline::test {

namespace {

// How many events the report of a failure shows.
std::size_t kept_events() {
  constexpr std::size_t kLast = 30;
  const char* text = std::getenv("BEELINE_EVENTS");
  return text == nullptr ? kLast : std::strtoull(text, nullptr, 10);
}

}  // namespace

void Driver::note(const std::string& event) {
  events_.push_back("step " + std::to_string(steps_) + ": " + event);
  static const std::size_t kept = kept_events();
  if (events_.size() > kept) events_.pop_front();
}

std::string Driver::story() const {
  std::string text = failure_;
  for (const std::string& event : events_) text += "\n  " + event;
  return text;
}

// False if something is wrong.
bool Driver::settle() {
  for (const std::string& complaint : model_.take_complaints()) failure_ += "\n" + complaint;
  return failure_.empty() && !testing::Test::HasFailure();
}

// ---- Puppets ------------------------------------------------------------------------------------

void Driver::give(Seat& seat, const PuppetCommand& command) {
  PuppetStage& stage = board_.stages[static_cast<std::size_t>(&seat - seats_.data())];
  stage.command = command;
  stage.asked.raise();
}

PuppetAnswer& Driver::ask(Seat& seat, PuppetCommand command) {
  PuppetStage& stage = board_.stages[static_cast<std::size_t>(&seat - seats_.data())];
  const std::uint32_t seen = stage.answered.count();
  give(seat, command);
  if (!stage.answered.await_change(seen, patience())) {
    ADD_FAILURE() << seat.agent.name << " does not answer";
    stage.answer = PuppetAnswer();
    stage.answer.error.set("no answer");
  }
  return stage.answer;
}

void Driver::join(Seat& seat) {
  const auto number = static_cast<std::uint32_t>(&seat - seats_.data());
  PuppetStage& stage = board_.stages[number];
  stage.served = stage.asked.count();
  if (std::exchange(seat.started, true)) {
    troupe_.restart(seat.place);
  } else {
    seat.place = troupe_.start("puppet", number);
  }
  PuppetCommand made = command(Verb::kAttach);
  made.name.set(seat.agent.name);
  made.parent.set(seat.agent.parent == kKing ? "" : std::to_string(seat.agent.parent));
  made.role.set(seat.agent.task ? "task" : "worker");
  made.temporary = seat.agent.temporary;
  made.capacity = seat.agent.capacity;
  made.max_attempts = seat.agent.max_attempts;
  made.normal_slots = seat.agent.normal_slots;
  made.urgent_slots = seat.agent.urgent_slots;
  const PuppetAnswer& answer = ask(seat, made);
  ASSERT_TRUE(answer.good) << seat.agent.name << ": " << answer.error.view();
  EXPECT_EQ(answer.parent, seat.agent.parent);
  EXPECT_TRUE(seat.pid == 0 || answer.pid == seat.pid) << "a name keeps its inbox";
  seat.pid = seat.agent.pid = answer.pid;
  model_.attach(seat.agent);
}

void Driver::kill(Seat& seat) {
  troupe_.kill(seat.place);
  model_.end(seat.pid, false);
  if (seat.agent.temporary) seat.pid = 0;
  await_ends();
}

// The coordinator learns of a death by itself; from then on others must act by the rules.
void Driver::await_ends() {
  const auto count = [&](AgentLife state) {
    return static_cast<std::uint64_t>(
        std::count_if(model_.agents().begin(), model_.agents().end(),
                      [&](const auto& each) { return each.second.state == state; }));
  };
  const Deadline deadline = patience();
  for (;;) {
    const auto status = hive_.status();
    if (status.running == count(AgentLife::kRunning) + 1 &&
        status.away == count(AgentLife::kAway)) {
      return;
    }
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "the coordinator sees no death";
  }
}

bool Driver::runs(const Seat& seat) const {
  const auto found = model_.agents().find(seat.pid);
  return found != model_.agents().end() && found->second.state == AgentLife::kRunning;
}

Driver::Seat* Driver::running(std::uint32_t number) {
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    Seat& seat = seats_[(number + i) % seats_.size()];
    if (runs(seat)) return &seat;
  }
  return nullptr;
}

void Driver::set_up(std::mt19937_64& random) {
  permanent_ = kMostPuppets - 8;
  constexpr std::array<std::uint32_t, 3> kCapacities{16, 64, 256};
  for (std::uint32_t i = 0; i < permanent_; ++i) {
    Seat& seat = seats_[i];
    seat.agent.name = "puppet-" + std::to_string(i);
    // Families of some size, so that there are many siblings.
    seat.agent.parent = i == 0 || random() % 8 == 0 ? kKing : seats_[random() % i / 2].pid;
    seat.agent.task = random() % 6 == 0;
    seat.agent.capacity = kCapacities[random() % kCapacities.size()];
    seat.agent.max_attempts = 1 + static_cast<std::uint32_t>(random() % 4);
    seat.agent.normal_slots = random() % 3 == 0 ? 16 : 256;
    seat.agent.urgent_slots = 16;
    join(seat);
    if (testing::Test::HasFailure()) return;
  }
}

// ---- The end ------------------------------------------------------------------------------------

// True if there was something.
bool Driver::gather_from(Seat& seat) {
  bool any = false;
  for (const MessageId id : model_of(seat).ids(LetterPlace::kLeased)) {
    finish(seat, StepKind::kDone, id);
  }
  while (failure_.empty() && receive(seat)) {
    any = true;
    for (const MessageId id : model_of(seat).ids(LetterPlace::kLeased)) {
      finish(seat, StepKind::kDone, id);
    }
    if (!settle()) return false;
  }
  any |= drain_results(seat);
  while (settle() && await_ack(seat, 0)) any = true;
  (void)ask(seat, command(Verb::kPurge));
  model_.purged(seat.pid);
  return any;
}

bool Driver::gather() {
  while (restart(0)) {
  }
  for (bool any = true; any && settle();) {
    any = false;
    for (Seat& seat : seats_) {
      if (runs(seat) && gather_from(seat)) any = true;
      if (!settle()) return false;
    }
  }
  model_.expect_empty();
  await_letters();
  return settle();
}

std::string Driver::missing_letters() const {
  auto client = hive_.client();
  const auto kept = control::list_kept_letters(client);
  if (!kept) return ", and nobody knows which: " + kept.error().text;
  std::set<std::pair<Pid, MessageId>> known;
  for (const control::KeptLetter& each : *kept) known.insert({each.to, each.id});
  std::string text;
  for (const auto& [to, letter] : model_.letters_left()) {
    if (known.contains({to, letter.id})) continue;
    text += "\n  #" + std::to_string(letter.number) + " of agent " + std::to_string(letter.from) +
            " for agent " + std::to_string(to) + ", place " +
            std::to_string(static_cast<int>(letter.place)) + " " + letter.reason;
  }
  return text;
}

// The coordinator has exactly the messages for the dead.
void Driver::await_letters() {
  const auto [least, most] = model_.letters_of_the_dead();
  const Deadline deadline = patience();
  std::uint64_t letters = hive_.status().dead_letters;
  while (letters < least && std::chrono::steady_clock::now() < deadline) {
    letters = hive_.status().dead_letters;
  }
  EXPECT_GE(letters, least) << "C-16: letters of the dead are lost" << missing_letters();
  EXPECT_LE(letters, most) << "C-16: letters of the dead are there twice";
}

void Driver::close() {
  for (Seat& seat : seats_) {
    if (runs(seat)) leave(seat);
  }
}

}  // namespace beeline::test
