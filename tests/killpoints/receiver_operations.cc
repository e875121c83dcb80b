// Operations of a receiver, swept instruction by instruction.

#include "src/os/clock.h"
#include "tests/killpoints/rig_clock.h"
#include "tests/killpoints/scenario.h"

namespace beeline::killpoints {
namespace {

constexpr char kWithMail[] = "one half full wrapped mixed table-full handed-over fifo strict";
// finish-all takes the same many steps from the others.
constexpr char kWithFewSteps[] =
    "one half* full* wrapped mixed table-full handed-over fifo* strict";
constexpr char kWithRoom[] = "empty half wrapped mixed handed-over fifo strict";

constexpr Plan kInline{.length = 30, .rank = 1};
constexpr Plan kSlab{.length = 400, .rank = 1};
constexpr std::uint64_t kQuestion = shm::make_message_id(kReceiverPid, 77);
constexpr Plan kUrgent{.length = 12, .rank = shm::kRankCritical};

void nothing(Rig& /*rig*/) {}

Operation receiver_does(std::string name, Step arrange, Step operate, Step after, const char* from,
                        bool leases = false) {
  return {std::move(name),
          Actor::kReceiver,
          std::move(arrange),
          std::move(operate),
          std::move(after),
          from,
          leases};
}

// A message of this plan is leased: rig.at, rig.target.
Step lease(const Plan& plan) {
  return [plan](Rig& rig) {
    rig.finish_lanes();
    rig.target = rig.send(plan);
    rig.drain();
    rig.take(rig.target);
    rig.at = rig.entry_of(rig.target);
  };
}

Step dead_letter(const Plan& plan) {
  return [plan](Rig& rig) {
    lease(plan)(rig);
    rig.bury(rig.target, shm::DeadReason::kRejected);
  };
}

Step becomes(Fate fate) {
  return [fate](Rig& rig) { rig.set_fate(rig.target, fate); };
}

void note_taken(Rig& rig) {
  if (rig.at != shm::kNoEntry) rig.note_leased(rig.at);
}

// A message that is planned and sent, and cancelled by an order behind it.
std::uint64_t send_order(Rig& rig, std::uint64_t id) {
  const auto order = rig.send({.length = 0,
                               .rank = shm::kRankCritical,
                               .flags = shm::kFlagControl,
                               .reply_to = id,
                               .type = kCancelOrder});
  rig.set_fate(order, kGone);
  return order;
}

void take_and_finish_all(Rig& rig) {
  receive::Receiver& receiver = rig.receiver();
  (void)receiver.drain_turn();
  for (rig.at = receiver.take(); rig.at != shm::kNoEntry; rig.at = receiver.take()) {
    rig.finished.push_back(receiver.entry(rig.at).header.id);
    receiver.done(rig.at);
  }
}

void note_finished(Rig& rig) {
  for (const std::uint64_t id : rig.finished) rig.set_fate(id, kGone);
}

std::vector<Operation> draining() {
  return {
      receiver_does(
          "drain", nothing, [](Rig& rig) { (void)rig.receiver().drain_turn(); }, nothing,
          kWithFewSteps),
      receiver_does(
          "drain-nothing", [](Rig& rig) { rig.drain(); },
          [](Rig& rig) { (void)rig.receiver().drain_all(); }, nothing, "empty mixed table-full"),
      receiver_does(
          "cycle", nothing,
          [](Rig& rig) {
            (void)rig.receiver().drain_turn();
            rig.at = rig.receiver().take();
            rig.target = rig.receiver().entry(rig.at).header.id;
            rig.receiver().done(rig.at);
          },
          becomes(kGone), kWithFewSteps, true),
      receiver_does("finish-all", nothing, take_and_finish_all, note_finished, kWithMail, true),
      receiver_does(
          "ring-for-space", nothing, [](Rig& rig) { rig.receiver().ring_all_for_space(); }, nothing,
          "empty half"),
      receiver_does(
          "note-empty", [](Rig& rig) { rig.drain(); },
          [](Rig& rig) { rig.receiver().note_all_empty(os::coarse_ns()); }, nothing, "empty half"),
  };
}

std::vector<Operation> taking() {
  return {
      receiver_does(
          "take", [](Rig& rig) { rig.drain(); }, [](Rig& rig) { rig.at = rig.receiver().take(); },
          note_taken, kWithMail),
      receiver_does(
          "take-alone", [](Rig& rig) { rig.finish_all(), rig.send(kInline); },
          [](Rig& rig) { rig.at = rig.receiver().take_alone(); }, note_taken, kWithRoom),
      receiver_does(
          "take-alone-slab", [](Rig& rig) { rig.finish_all(), rig.send(kSlab); },
          [](Rig& rig) { rig.at = rig.receiver().take_alone(); }, note_taken,
          "half wrapped handed-over"),
      receiver_does(
          "take-slab", [](Rig& rig) { rig.finish_lanes(), rig.send(kSlab), rig.drain(); },
          [](Rig& rig) { rig.at = rig.receiver().take(); }, note_taken, "empty"),
      receiver_does(
          "take-typed",
          [](Rig& rig) {
            rig.finish_lanes();
            rig.send({.length = 3, .type = "note"});
            rig.drain();
          },
          [](Rig& rig) { rig.at = rig.receiver().take_selected({.type = "note"}); }, note_taken,
          kWithRoom),
      receiver_does(
          "take-oldest", [](Rig& rig) { rig.drain(); },
          [](Rig& rig) {
            rig.at = rig.receiver().take_selected({.from = kSenderPid, .oldest_first = true});
          },
          note_taken, "half mixed fifo"),
      receiver_does(
          "expire",
          [](Rig& rig) {
            rig.finish_lanes();
            rig.target = rig.send({.length = 100, .rank = -5, .ttl_ms = 20});
            rig.set_fate(rig.target, dead(shm::DeadReason::kExpired));
            rig.drain();
            advance_clock(100'000'000);
          },
          [](Rig& rig) { rig.at = rig.receiver().take(); }, note_taken, kWithRoom),
      receiver_does(
          "exhaust",
          [](Rig& rig) {
            lease({.length = 12, .rank = -5})(rig);
            for (int i = 0; i < 2; ++i) {
              rig.requeue(rig.target);
              rig.take(rig.target);
            }
            rig.requeue(rig.target);
          },
          [](Rig& rig) { rig.at = rig.receiver().take(); }, note_taken, kWithRoom),
  };
}

std::vector<Operation> finishing() {
  const auto finish = [](Rig& rig) { rig.receiver().done(rig.at); };
  const auto put_back = [](Rig& rig) { rig.receiver().requeue(rig.at); };
  const auto put_back_unspent = [](Rig& rig) {
    rig.receiver().requeue(rig.at, shm::Cost::kNothing);
  };
  const auto reject = [](Rig& rig) { rig.receiver().bury(rig.at, shm::DeadReason::kRejected); };
  const auto purge = [](Rig& rig) { rig.receiver().purge_dead(rig.at); };
  const auto revive = [](Rig& rig) { rig.receiver().revive(rig.at); };
  const auto rejected = becomes(dead(shm::DeadReason::kRejected));
  return {
      receiver_does("done-inline", lease(kInline), finish, becomes(kGone), kWithRoom),
      receiver_does("done-slab", lease(kSlab), finish, becomes(kGone), kWithRoom),
      receiver_does("done-urgent", lease(kUrgent), finish, becomes(kGone), "empty mixed"),
      receiver_does("requeue-inline", lease(kInline), put_back, nothing, kWithRoom),
      receiver_does("requeue-slab", lease(kSlab), put_back, nothing, "empty wrapped mixed"),
      receiver_does("put-back", lease(kInline), put_back_unspent, becomes(live()), kWithRoom),
      receiver_does("reject-inline", lease(kInline), reject, rejected, kWithRoom),
      receiver_does("reject-slab", lease(kSlab), reject, rejected, "empty wrapped mixed"),
      receiver_does("purge-inline", dead_letter(kInline), purge, becomes(kGone), kWithRoom),
      receiver_does("purge-slab", dead_letter(kSlab), purge, becomes(kGone), kWithRoom),
      receiver_does("revive-inline", dead_letter(kInline), revive, becomes(live()), kWithRoom),
      receiver_does("revive-slab", dead_letter(kSlab), revive, becomes(live()),
                    "empty wrapped mixed"),
      receiver_does(
          "requeue-cancelled",
          [](Rig& rig) {
            lease(kInline)(rig);
            send_order(rig, rig.target);
            rig.set_fate(rig.target, dead(shm::DeadReason::kCancelled));
            rig.drain();
          },
          put_back, nothing, "empty mixed"),
  };
}

std::vector<Operation> cancelling() {
  const auto drain = [](Rig& rig) { (void)rig.receiver().drain_turn(); };
  const Step cancelled = becomes(dead(shm::DeadReason::kCancelled));
  const auto arrange = [cancelled](const Plan& plan, bool drained, bool leased,
                                   Step before_order = nothing) -> Step {
    return [=](Rig& rig) {
      rig.finish_lanes();
      rig.target = rig.send(plan);
      if (drained) rig.drain();
      if (leased) rig.take(rig.target);
      before_order(rig);
      send_order(rig, rig.target);
      cancelled(rig);
    };
  };
  // Only the place of control messages is left, for orders of a superior.
  const auto fill = [](Rig& rig) {
    for (std::uint32_t i = 2; i < kInboxCapacity; ++i) {
      rig.send(i == 2 ? kUrgent : kInline);
      rig.drain();
    }
  };
  return {
      receiver_does("cancel-queued-without-room", arrange(kInline, true, false, fill), drain,
                    nothing, "empty"),
      receiver_does("cancel-leased-without-room", arrange(kSlab, true, true, fill), drain, nothing,
                    "empty"),
      receiver_does("cancel-queued", arrange(kInline, true, false), drain, nothing, kWithRoom),
      receiver_does("cancel-queued-slab", arrange(kSlab, true, false), drain, nothing,
                    "empty mixed"),
      receiver_does("cancel-leased", arrange(kInline, true, true), drain, nothing, "empty mixed"),
      receiver_does("cancel-in-lane", arrange(kInline, false, false), drain, nothing,
                    "empty wrapped mixed"),
      receiver_does(
          "cancel-nothing",
          [](Rig& rig) {
            rig.finish_lanes();
            send_order(rig, shm::make_message_id(kSenderPid, 1ULL << 30));
          },
          drain, nothing, "empty mixed"),
  };
}

std::vector<Operation> answering() {
  const Plan answer{.length = 21, .reply_to = kQuestion};
  const auto drain = [](Rig& rig) { (void)rig.receiver().drain_turn(); };
  const auto expect = [](Rig& rig) {
    rig.finish_lanes();
    rig.pending.request_id = kQuestion;
    rig.pending.from = kSenderPid;
    rig.receiver().answers().expect(rig.pending);
  };
  const auto has_come = [=](Rig& rig) {
    expect(rig);
    rig.target = rig.send(answer);
    rig.drain();
  };
  const auto take_awaited = [](Rig& rig) {
    receive::Receiver& receiver = rig.receiver();
    rig.at = receiver.take_alone(rig.pending);
    if (rig.at != shm::kNoEntry) return;  // otherwise another message has come beside it
    (void)receiver.drain_turn();
    rig.at = receiver.take_reply(rig.pending);
  };
  const auto ask = [](Rig& rig) {
    rig.finish_lanes();
    (void)rig.receiver().answers().open(kQuestion, 0, kSenderPid);
  };
  const auto is_stashed = [=](Rig& rig) {
    ask(rig);
    rig.target = rig.send(answer);
    rig.drain();
  };
  return {
      receiver_does(
          "drain-answer", [=](Rig& rig) { expect(rig), rig.send(answer); }, drain, nothing,
          "empty mixed"),
      receiver_does(
          "drain-stashed",
          [=](Rig& rig) {
            ask(rig);
            rig.send(answer);
          },
          drain, nothing, "empty mixed"),
      receiver_does(
          "take-answer", has_come,
          [](Rig& rig) { rig.at = rig.receiver().take_reply(rig.pending); }, note_taken,
          "empty mixed"),
      receiver_does(
          "take-answer-alone", [=](Rig& rig) { expect(rig), rig.target = rig.send(answer); },
          take_awaited, note_taken, "empty mixed"),
      receiver_does(
          "take-answer-alone-slab",
          [=](Rig& rig) {
            expect(rig);
            rig.target = rig.send({.length = 400, .reply_to = kQuestion});
          },
          take_awaited, note_taken, "half wrapped handed-over"),
      receiver_does(
          "forget-answer", has_come, [](Rig& rig) { rig.receiver().forget(rig.pending); }, nothing,
          "empty mixed"),
      receiver_does(
          "take-stashed", is_stashed,
          [](Rig& rig) { rig.at = rig.receiver().take_stashed_answer(); }, note_taken,
          "empty mixed"),
  };
}

// A successor buries a task, wherever its predecessor had got with it.
std::vector<Operation> doing_tasks() {
  constexpr auto kCancelled = shm::DeadReason::kCancelled;
  const auto give = [](std::uint32_t length) -> Step {
    return [length](Rig& rig) {
      rig.finish_lanes();
      for (const auto& link : rig.receiver().links().all()) {
        link->set_relation(Relation::kParent, true);
      }
      rig.receiver().kept().tasks().accept(true);
      rig.target = rig.send(
          {.length = length, .ttl_ms = 600'000, .extended = true, .kind = shm::MessageKind::kTask});
      rig.drain();
      rig.set_fate(rig.target, dead(kCancelled));
    };
  };
  const auto take = [](Rig& rig) { rig.at = rig.receiver().take_task(); };
  const auto taken = [=](std::uint32_t length) -> Step {
    return [=](Rig& rig) {
      give(length)(rig);
      take(rig);
    };
  };
  const auto finish = [](Rig& rig) { rig.receiver().done(rig.at); };
  return {
      receiver_does("take-task", give(12), take, nothing, "empty mixed"),
      receiver_does("take-task-slab", give(400), take, nothing, "empty mixed"),
      receiver_does("done-task", taken(12), finish, becomes(kGone), "empty mixed"),
      receiver_does("done-task-slab", taken(400), finish, becomes(kGone), "empty mixed"),
  };
}

}  // namespace

std::vector<Operation> receiver_operations() {
  std::vector<Operation> all;
  for (auto some : {draining(), taking(), finishing(), cancelling(), answering(), doing_tasks()}) {
    for (Operation& operation : some) all.push_back(std::move(operation));
  }
  return all;
}

}  // namespace beeline::killpoints
