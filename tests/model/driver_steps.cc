// The steps of a walk: their present meaning, and the report to the model.

#include <algorithm>
#include <array>
#include <utility>

#include "src/control/log_gate.h"
#include "src/os/clock.h"
#include "tests/model/driver.h"
#include "tests/support/hive_test.h"

namespace beeline::test {

namespace {

constexpr std::size_t kManyLetters = 40;  // dead letters; an agent keeps at most 64

constexpr std::array<std::string_view, 8> kTypes = {
    "", "", "note", kTaskRequest, kTaskResponse, kEscalation, kNotification, kCancelOrder};

std::optional<Taken> first_of(const PuppetAnswer& answer) {
  if (answer.taken_count == 0) return std::nullopt;
  return answer.taken[0];
}

Listing listing_of(const PuppetAnswer& answer) {
  Listing listing;
  for (std::uint32_t i = 0; i < answer.items_count; ++i) {
    const PuppetItem& from = answer.items[i];
    InboxItem item;
    item.id = from.id;
    item.from = from.from;
    item.reply_to = from.reply_to;
    item.rank = from.rank;
    item.attempts = from.attempts;
    item.sent_ns = from.sent_ns;
    item.type = from.type.view();
    item.preview = from.preview.view();
    item.stashed = from.stashed;
    item.leased = from.leased;
    item.dead = from.dead;
    item.reason = from.reason.view();
    listing.items.push_back(std::move(item));
  }
  listing.counters = answer.counters;
  listing.links.assign(answer.links.begin(), answer.links.begin() + answer.links_count);
  return listing;
}

}  // namespace

// Mostly family; sometimes any agent, also a dead one.
Pid Driver::target(const Seat& seat, const Step& step) const {
  std::vector<Pid> family;
  for (const auto& [pid, other] : model_.agents()) {
    const bool near =
        other.parent == seat.agent.parent || other.parent == seat.pid || seat.agent.parent == pid;
    if (near && other.state != AgentLife::kDead) family.push_back(pid);
  }
  if (step.how % 4 != 0 && !family.empty()) return family[step.whom % family.size()];
  if (step.how % 64 == 4) return 100'000;
  auto any = model_.agents().begin();
  std::advance(any, step.whom % model_.agents().size());
  return any->first;
}

Draft Driver::draft_of(const Seat& seat, const Step& step) {
  constexpr std::array<std::int32_t, 8> kRanks{-5, 0, 1, 1, 2, 2, 3, 9};
  Draft draft;
  draft.number = static_cast<std::uint32_t>(steps_);
  draft.rank = kRanks[step.what % kRanks.size()];
  draft.type = kTypes[step.what / 8 % kTypes.size()];
  draft.requires_ack = step.what / 64 % 6 == 0;
  // Answers to questions that were asked, or were not.
  const auto& letters = model_.agent(seat.pid).letters;
  if (step.what / 512 % 8 == 0 && !letters.empty()) {
    draft.reply_to = letters[step.whom % letters.size()].id;
  }
  draft.control = step.kind == StepKind::kControl;
  draft.forget = step.kind == StepKind::kForget;
  return draft;
}

PuppetCommand Driver::send_command(Verb verb, Pid to, const Draft& draft, const Step& step) const {
  PuppetCommand made = command(verb);
  made.to = to;
  made.number = draft.number;
  made.bytes = step.how / 64 % 10 == 0 ? step.how / 640 % 5000 : 0;
  made.rank = draft.rank;
  made.type.set(draft.type);
  made.reply_to = draft.reply_to;
  made.requires_ack = draft.requires_ack;
  return made;
}

bool Driver::send(Seat& seat, const Step& step) {
  const Pid to = target(seat, step);
  Draft draft = draft_of(seat, step);
  Verb verb = Verb::kSend;
  if (draft.forget) verb = Verb::kForget;
  if (draft.control) {
    verb = Verb::kControl;
    draft.type = step.what % 2 == 0 ? kSteerOrder : kShutdownOrder;
  }
  const PuppetAnswer& answer = ask(seat, send_command(verb, to, draft, step));
  if (!answer.good) failure_ += "\n" + std::string(answer.error.view());
  const SendResult result{answer.status, answer.id, 0};
  model_.sent(seat.pid, to, draft, result);
  note(seat.agent.name + " (" + std::to_string(seat.pid) + ") sends #" +
       std::to_string(draft.number) + " \"" + draft.type + "\" rank " + std::to_string(draft.rank) +
       " to " + std::to_string(to) + ": " + std::string(beeline::to_string(result.status)));
  if (result) {
    sent_.push_back(result.id);
    sent_to_.push_back(to);
  }
  return true;
}

bool Driver::broadcast(Seat& seat, const Step& step) {
  constexpr std::array<Group::Kind, 4> kKinds{Group::Kind::kAll, Group::Kind::kChildren,
                                              Group::Kind::kSubtree, Group::Kind::kRole};
  const Group group{kKinds[step.whom % kKinds.size()], std::string(kWorkers)};
  Draft draft = draft_of(seat, step);
  draft.requires_ack = false;  // the model knows an acknowledgement only by the id
  PuppetCommand made = send_command(Verb::kBroadcast, 0, draft, step);
  made.group = group.kind;
  const PuppetAnswer& answer = ask(seat, made);
  if (!answer.good) failure_ += "\n" + std::string(answer.error.view());
  std::vector<Delivery> deliveries;
  std::string outcome;
  for (std::uint32_t i = 0; i < answer.deliveries_count; ++i) {
    const PuppetDelivery& each = answer.deliveries[i];
    deliveries.push_back({each.pid, {}, {each.status, each.id, 0}});
    outcome += " " + std::to_string(each.pid) + " " + std::string(beeline::to_string(each.status));
    if (each.status != SendStatus::kOk) continue;
    sent_.push_back(each.id);
    sent_to_.push_back(each.pid);
  }
  note(seat.agent.name + " (" + std::to_string(seat.pid) + ") broadcasts #" +
       std::to_string(draft.number) + ":" + outcome);
  model_.broadcast(seat.pid, group, draft, deliveries);
  return !deliveries.empty();
}

// One of the last messages, mostly one of its own.
bool Driver::cancel(Seat& seat, const Step& step) {
  if (sent_.empty()) return false;
  std::size_t at = sent_.size() - 1 - step.what % std::min<std::size_t>(sent_.size(), 200);
  for (std::size_t i = 0; step.how % 8 != 0 && i < 200 && at > 0; ++i) {
    if (static_cast<Pid>(sent_[at] >> 40) == seat.pid) break;
    --at;
  }
  const Pid to = sent_to_[at];
  Draft draft;
  draft.type = kCancelOrder;
  draft.reply_to = sent_[at];
  draft.cancel = true;
  PuppetCommand made = command(Verb::kCancel);
  made.to = to;
  made.id = sent_[at];
  const PuppetAnswer& answer = ask(seat, made);
  model_.sent(seat.pid, to, draft, {answer.status, answer.id, 0});
  note(seat.agent.name + " (" + std::to_string(seat.pid) + ") cancels " +
       std::to_string(sent_[at] & ((1ULL << 40) - 1)) + " of " + std::to_string(sent_[at] >> 40) +
       " at " + std::to_string(to) + ": " + std::string(beeline::to_string(answer.status)));
  return true;
}

bool Driver::reply(Seat& seat, const Step& step) {
  const auto leases = model_of(seat).ids(LetterPlace::kLeased);
  if (leases.empty()) return false;
  const MessageId id = leases[step.what % leases.size()];
  const Pid to = model_of(seat).find(id)->from;
  Draft draft = draft_of(seat, step);
  draft.reply_to = id;
  PuppetCommand made = send_command(Verb::kReply, to, draft, step);
  made.id = id;
  const PuppetAnswer& answer = ask(seat, made);
  model_.sent(seat.pid, to, draft, {answer.status, answer.id, 0});
  // C-08: the sender of a deferred message was told to wait for this answer.
  const bool ends = answer.status == SendStatus::kOk && model_of(seat).find(id)->deferred;
  if (ends) model_.done(seat.pid, id);
  note(seat.agent.name + " (" + std::to_string(seat.pid) + ") replies #" +
       std::to_string(draft.number) + " to " + std::to_string(to) + ": " +
       std::string(beeline::to_string(answer.status)));
  return true;
}

void Driver::look(Seat& seat) {
  const PuppetAnswer& answer = ask(seat, command(Verb::kLook));
  model_.looked(seat.pid, listing_of(answer));
  note(seat.agent.name + " (" + std::to_string(seat.pid) +
       ") looks: " + std::to_string(answer.items_count));
}

// False if there is no message.
bool Driver::receive(Seat& seat) {
  const PuppetAnswer& answer = ask(seat, command(Verb::kReceive));
  const Listing listing = listing_of(answer);
  const auto taken = first_of(answer);
  note(seat.agent.name + " (" + std::to_string(seat.pid) + ") receives " +
       (taken ? "#" + std::to_string(taken->number) : "nothing") + " of " +
       std::to_string(listing.items.size()));
  model_.looked(seat.pid, listing);
  model_.received(seat.pid, listing, taken);
  return taken.has_value();
}

// The coordinator writes escalations to it into its log, as many in a burst as it allows, and
// refuses more.
bool Driver::may_escalate(const Seat& seat) {
  constexpr control::LogGate::Limit kMost = control::LogGate::kEscalations;
  if (model_.runs_above(seat.pid) != kKing) return true;
  std::uint32_t& of_agent = escalated_by_[seat.pid];
  if (of_agent >= kMost.agent.burst || escalated_ >= kMost.user.burst) return false;
  ++of_agent;
  ++escalated_;
  return true;
}

bool Driver::finish(Seat& seat, StepKind kind, std::uint32_t what) {
  const auto leases = model_of(seat).ids(LetterPlace::kLeased);
  if (leases.empty() || (kind == StepKind::kEscalate && !may_escalate(seat))) return false;
  return finish(seat, kind, leases[what % leases.size()]);
}

bool Driver::finish(Seat& seat, StepKind kind, MessageId id) {
  const std::uint32_t number = model_of(seat).find(id)->number;
  Verb verb = Verb::kDone;
  if (kind == StepKind::kRequeue) verb = Verb::kRequeue;
  if (kind == StepKind::kPutBack) verb = Verb::kPutBack;
  if (kind == StepKind::kReject) verb = Verb::kReject;
  if (kind == StepKind::kDefer) verb = Verb::kDefer;
  if (kind == StepKind::kEscalate) verb = Verb::kEscalate;
  PuppetCommand made = command(verb);
  made.id = id;
  made.number = number;
  const PuppetAnswer& answer = ask(seat, made);
  note(seat.agent.name + " (" + std::to_string(seat.pid) + ") ends #" + std::to_string(number) +
       ": " + to_string(kind));
  switch (kind) {
    case StepKind::kRequeue:
      model_.requeued(seat.pid, id, 1);
      break;
    case StepKind::kPutBack:
      model_.requeued(seat.pid, id, 0);
      break;
    case StepKind::kReject:
      model_.rejected(seat.pid, id, "no " + std::to_string(number));
      break;
    case StepKind::kDefer:
      model_.deferred(seat.pid, id);
      break;
    case StepKind::kEscalate:
      model_.escalated(seat.pid, id, {answer.status, answer.id, 0});
      break;
    default:
      model_.done(seat.pid, id);
  }
  return true;
}

bool Driver::drain_results(Seat& seat) {
  const PuppetAnswer& answer = ask(seat, command(Verb::kDrainResults));
  note(seat.agent.name + " (" + std::to_string(seat.pid) + ") drains " +
       std::to_string(answer.taken_count) + " results");
  model_.looked(seat.pid, listing_of(answer));
  model_.drained_results(seat.pid,
                         {answer.taken.begin(), answer.taken.begin() + answer.taken_count});
  return answer.taken_count != 0;
}

bool Driver::await_ack(Seat& seat, std::uint32_t what) {
  std::vector<const Letter*> acks;
  for (const Letter& each : model_of(seat).letters) {
    const bool here = each.place == LetterPlace::kStashed && each.kind == LetterKind::kAck;
    if (here && !each.fog) acks.push_back(&each);
  }
  if (acks.empty()) return false;
  const Letter& ack = *acks[what % acks.size()];
  const MessageId id = ack.reply_to;
  PuppetCommand made = command(Verb::kAwaitAck);
  made.to = ack.from;
  made.id = id;
  const PuppetAnswer& answer = ask(seat, made);
  note(seat.agent.name + " (" + std::to_string(seat.pid) + ") awaits an acknowledgement of " +
       std::to_string(ack.from));
  std::optional<Acknowledgement> got;
  if (answer.good) got = {answer.id, answer.ack, std::string(answer.text.view())};
  model_.got_ack(seat.pid, id, got);
  return true;
}

bool Driver::revive(Seat& seat, std::uint32_t what) {
  look(seat);  // a successor buries messages that were cancelled in its predecessor's hands when it
               // looks
  const auto dead = model_of(seat).ids(LetterPlace::kDead);
  if (dead.empty()) return false;
  PuppetCommand made = command(Verb::kRevive);
  made.id = dead[what % dead.size()];
  const PuppetAnswer& answer = ask(seat, made);
  if (!answer.good) failure_ += "\n" + std::string(answer.error.view());
  note(seat.agent.name + " (" + std::to_string(seat.pid) + ") revives #" +
       std::to_string(model_of(seat).find(made.id)->number));
  model_.revived(seat.pid, made.id);
  return true;
}

// Kills an agent during a call, or just before or after it.
bool Driver::kill_inside(Seat& seat, const Step& step) {
  const auto leases = model_of(seat).ids(LetterPlace::kLeased);
  std::string doing = "it receives";
  if (step.what % 3 == 0) {
    const Pid to = target(seat, step);
    const Draft draft = draft_of(seat, step);
    doing = "it sends #" + std::to_string(draft.number) + " to " + std::to_string(to);
    give(seat, send_command(Verb::kSend, to, draft, step));
    model_.may_have_sent(seat.pid, to, draft);
  } else if (step.what % 3 == 1 && !leases.empty()) {
    PuppetCommand made = command(Verb::kDone);
    made.id = leases[step.how % leases.size()];
    made.number = model_of(seat).find(made.id)->number;
    doing = "it ends #" + std::to_string(made.number);
    give(seat, made);
    model_.may_have_done(seat.pid, made.id);
  } else {
    give(seat, command(Verb::kReceive));
    model_.may_have_received(seat.pid);
  }
  const std::int64_t until = os::monotonic_ns() + step.whom % 400'000;
  while (os::monotonic_ns() < until) {
  }
  note(seat.agent.name + " (" + std::to_string(seat.pid) + ") is killed while " + doing);
  kill(seat);
  return true;
}

bool Driver::leave(Seat& seat) {
  (void)ask(seat, command(Verb::kLeave));
  note(seat.agent.name + " (" + std::to_string(seat.pid) + ") leaves");
  troupe_.wait(seat.place, patience());
  model_.end(seat.pid, true);
  if (seat.agent.temporary) seat.pid = 0;
  await_ends();
  return true;
}

bool Driver::restart(std::uint32_t number) {
  for (std::size_t i = 0; i < permanent_; ++i) {
    Seat& seat = seats_[(number + i) % permanent_];
    if (runs(seat)) continue;
    note(seat.agent.name + " (" + std::to_string(seat.pid) + ") comes back");
    join(seat);
    return true;
  }
  return false;
}

bool Driver::newcomer(const Step& step) {
  for (std::size_t i = permanent_; i < seats_.size(); ++i) {
    Seat& seat = seats_[i];
    if (seat.pid != 0) continue;
    seat.agent = ModelAgent();
    seat.agent.name = "newcomer-" + std::to_string(++newcomers_);
    seat.agent.temporary = true;
    seat.agent.task = step.how % 3 == 0;
    seat.agent.parent = step.how % 5 == 0 ? kKing : seats_[step.who % permanent_].pid;
    seat.agent.capacity = step.what % 2 == 0 ? 16 : 64;
    seat.agent.max_attempts = 1 + step.what / 2 % 4;
    seat.agent.normal_slots = 16;
    seat.agent.urgent_slots = 16;
    join(seat);
    note(seat.agent.name + " (" + std::to_string(seat.pid) + ") comes, a child of " +
         std::to_string(seat.agent.parent));
    return true;
  }
  return false;
}

bool Driver::act(Seat& seat, const Step& step) {
  switch (step.kind) {
    case StepKind::kSend:
    case StepKind::kForget:
    case StepKind::kControl:
      return send(seat, step);
    case StepKind::kBroadcast:
      return broadcast(seat, step);
    case StepKind::kCancel:
      return cancel(seat, step);
    case StepKind::kReply:
      return reply(seat, step);
    case StepKind::kLook:
      look(seat);
      return true;
    case StepKind::kReceive:
      return receive(seat);
    case StepKind::kDrainResults:
      return drain_results(seat);
    case StepKind::kAwaitAck:
      return await_ack(seat, step.what);
    case StepKind::kRevive:
      return revive(seat, step.what);
    case StepKind::kPurge:
      (void)ask(seat, command(Verb::kPurge));
      model_.purged(seat.pid);
      return true;
    case StepKind::kKill:
      note(seat.agent.name + " (" + std::to_string(seat.pid) + ") is killed");
      kill(seat);
      return true;
    case StepKind::kKillInside:
      return kill_inside(seat, step);
    case StepKind::kLeave:
      return leave(seat);
    default:
      return finish(seat, step.kind, step.what);
  }
}

bool Driver::take(const Step& step) {
  ++steps_;
  bool meant = false;
  if (step.kind == StepKind::kRestart) {
    meant = restart(step.who);
  } else if (step.kind == StepKind::kNewcomer) {
    meant = newcomer(step);
  } else if (Seat* seat = running(step.who); seat != nullptr) {
    meant = act(*seat, step);
    if (runs(*seat) && model_of(*seat).ids(LetterPlace::kDead).size() > kManyLetters) {
      (void)ask(*seat, command(Verb::kPurge));
      model_.purged(seat->pid);
    }
  }
  if (meant) ++counts_[static_cast<std::size_t>(step.kind)];
  return settle();
}

}  // namespace beeline::test
