// The states that operations are swept from.

#include "tests/killpoints/scenario.h"

namespace beeline::killpoints {
namespace {

constexpr Plan kPlain{.length = 40};
constexpr Plan kLong{.length = 300};
constexpr Plan kHasty{.length = 10, .rank = shm::kRankCritical};

shm::HomeOptions options(shm::OrderPolicy policy = shm::OrderPolicy::kAged) {
  shm::HomeOptions options;
  options.policy = policy;
  options.capacity = kInboxCapacity;
  return options;
}

void empty(Rig& /*rig*/) {}

void one(Rig& rig) { rig.send(kPlain); }

void half(Rig& rig) {
  rig.send(kPlain);
  rig.send(kLong);
  rig.send(kHasty);
  rig.send({.length = 64, .rank = 1});
  rig.send({.length = 5, .type = "note"});
  rig.send(kHasty);
}

// Both lanes, as full as data may make them.
void full(Rig& rig) {
  for (int i = 0; i < 4; ++i) {
    rig.send(kPlain);
    rig.send(kLong);
  }
  for (int i = 0; i < 3; ++i) rig.send(kHasty);
}

// Every slot was used before, and the next ones lie across the end of the ring.
void wrapped(Rig& rig) {
  for (int i = 0; i < 6; ++i) {
    rig.send({.length = static_cast<std::uint32_t>(i * 11)});
    rig.send_and_finish(kLong);
  }
  for (int i = 0; i < 5; ++i) rig.send_and_finish(kHasty);
  rig.send(kPlain);
  rig.send(kHasty);
  rig.send(kLong);
}

// Every state that an entry can have, and more messages in the lanes.
void mixed(Rig& rig) {
  const auto leased = rig.send(kPlain);
  const auto leased_slab = rig.send(kLong);
  rig.send(kHasty);
  const auto rejected = rig.send({.length = 20, .type = "note"});
  const auto again = rig.send(kLong);
  rig.drain();
  const auto rejected_slab = rig.send({.length = 500, .rank = 1});
  rig.send({.length = 7, .rank = 3});
  rig.drain();
  for (const auto id : {leased, leased_slab, rejected, again, rejected_slab}) rig.take(id);
  rig.bury(rejected, shm::DeadReason::kRejected);
  rig.bury(rejected_slab, shm::DeadReason::kRejected);
  rig.requeue(again);
  rig.send(kPlain);
  rig.send(kLong);
}

// The table has no ordinary place left, and more messages wait in the lanes.
void table_full(Rig& rig) {
  for (int i = 0; i < 14; ++i) {
    rig.send(i % 3 == 0 ? kLong : kPlain);
    rig.drain();
  }
  rig.send(kPlain);
  rig.send(kLong);
  rig.send(kHasty);
  rig.drain();
}

void handed_over(Rig& rig) {
  mixed(rig);
  rig.hand_over();
  rig.send({.length = 33, .rank = 1});
  rig.drain();
  rig.hand_over();
  rig.send(kHasty);
}

}  // namespace

const std::vector<Base>& bases() {
  static const std::vector<Base> all = {
      {"empty", options(), empty},
      {"one", options(), one},
      {"half", options(), half},
      {"full", options(), full},
      {"wrapped", options(), wrapped},
      {"mixed", options(), mixed},
      {"table-full", options(), table_full},
      {"handed-over", options(), handed_over},
      {"fifo", options(shm::OrderPolicy::kFifo), half},
      {"strict", options(shm::OrderPolicy::kStrict), mixed},
  };
  return all;
}

}  // namespace beeline::killpoints
