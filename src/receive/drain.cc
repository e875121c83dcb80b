#include "src/receive/drain.h"

#include <array>

#include "src/os/clock.h"

namespace beeline::receive {

namespace {

constexpr std::uint32_t kScanned = 4096;  // entries that orders to cancel may look at in one turn

// If the last slot of a run is published, the whole run is (docs/cache-lines.md, Runs).
constexpr std::array<std::uint32_t, 3> kRuns{16, 32, 64};
// The slots of a run are asked for so many ahead (docs/cache-lines.md, Prefetch distances).
constexpr std::uint32_t kAskedAhead = 16;
// If messages come in runs, the drain looks for the end of a lane once in this many ticks: four
// microseconds at 2 GHz. It never waits longer than eight, or until the next look after that.
constexpr std::uint64_t kEndTicks = 8'000;

// How many messages, `most` at most, surely wait in a lane; 0: hardly any.
std::uint32_t sure_run(const InLink& link, shm::Lane lane, std::uint32_t most) {
  const std::uint64_t next = link.position(lane);
  const std::uint32_t limit = std::min(most, link.view().capacity(lane));
  std::uint32_t sure = 0;
  for (const std::uint32_t run : kRuns) {
    const std::uint64_t last = next + run - 1;
    if (run > limit || !shm::is_published(link.view().slot(lane, last), last)) break;
    sure = run;
  }
  return sure;
}

}  // namespace

Drain::Drain(Entries& entries, Intake& intake, CancelOrders& orders, LaneTurns& turns)
    : entries_(entries),
      intake_(intake),
      orders_(orders),
      turns_(turns),
      budget_(drain_budget(entries.table().capacity())),
      few_places_(std::min(budget_, entries.table().capacity() / 8) / 2),
      fifo_(entries.control().policy == static_cast<std::uint32_t>(shm::OrderPolicy::kFifo)) {}

bool Drain::turn(Reach reach) {
  entries_.rings().ring_stamped();
  InLinks& links = entries_.links();
  bool taken = !turns_.nobody_waits() && serve_queue();
  const std::size_t active = std::min(links.looked_at(), kActiveLinks);
  for (std::size_t i = 0; i < active; ++i) taken |= drain(links.at(i), budget_, reach);
  if (!orders_.empty()) taken |= orders_.obey_all(kScanned);
  if (links.looked_at() <= active) return taken;
  const std::size_t others = links.looked_at() - active;
  links.count_visits(std::min(others, kSliceLinks));
  if (others > kSliceLinks) taken |= drain_urgent();
  for (std::size_t i = 0; i < std::min(others, kSliceLinks); ++i) {
    const std::size_t place = active + turns_.next_of(others);
    InLink& link = links.at(place);
    if (!drain(link, budget_)) continue;
    taken = true;
    if (!stop_looking(link)) links.move_to_front(place);
  }
  return taken;
}

// Nothing more comes from an ended owner whose lanes are empty: the looks leave its link out at
// once.
bool Drain::stop_looking(InLink& link) {
  if (!link.owner_gone() || link.has_message() || link.is_queued()) return false;
  entries_.links().arrange(link);
  return true;
}

// An urgent message waits for no turn.
bool Drain::drain_urgent() {
  InLinks& links = entries_.links();
  links.count_visits(links.watched());
  bool taken = false;
  for (std::size_t i = 0; i < links.watched(); ++i) {
    if (!links.has_urgent_at(i) || !drain(links.at(i), budget_)) continue;
    taken = true;
    links.move_to_front(i);
  }
  return taken;
}

bool Drain::all() {
  entries_.rings().ring_stamped();
  InLinks& links = entries_.links();
  intake_.forget_lack_of_room();
  links.count_visits(links.looked_at());
  bool taken = serve_queue();
  for (std::size_t i = 0; i < links.looked_at(); ++i) {
    InLink& link = links.at(i);
    if (!drain(link, budget_)) continue;
    taken = true;
    if (stop_looking(link)) {
      // Another link lies here now, which was not looked at. SUBTLE: 0 wraps round, and the loop
      // adds one before it compares.
      --i;
    } else if (i >= kActiveLinks) {
      links.move_to_front(i);
    }
  }
  if (!orders_.empty()) taken |= orders_.obey_all(kScanned);
  return taken;
}

// Takes from each link in turn, so that none takes all places. If a sender goes on meanwhile, the
// drain takes no more than its lane holds.
void Drain::whole() {
  cut_short_ = false;
  std::uint32_t rounds = entries_.links().most_slots() / budget_ + 1;
  do {
    (void)all();
  } while (was_cut_short() && --rounds != 0);
}

bool Drain::from(std::uint32_t pid) {
  serve_queue();  // places may have become free
  bool taken = false;
  entries_.links().index().each_of(pid, [&](InLink& link) { taken |= drain(link, budget_); });
  return taken;
}

bool Drain::serve_queue() {
  return turns_.serve([this](InLink& link) { return drain(link, budget_); });
}

bool Drain::drain(InLink& link, std::uint32_t budget, Reach reach) {
  link.prefetch_payload();
  const bool urgent = link.has_message(shm::Lane::kUrgent);
  if ((!urgent && !link.has_message(shm::Lane::kNormal)) || !link.open()) return false;
  intake_.tell_time(os::coarse_ns());  // after the first of them was seen, before the last look
  const std::uint32_t normal_budget = link.rate() != nullptr ? tokens_of(link, budget) : budget;
  const std::uint64_t before = link.position(shm::Lane::kNormal);
  std::uint32_t count = 0;
  if (fifo_) {
    count = drain_merged(link, budget, normal_budget);
  } else {
    if (urgent) count = drain_lane(link, shm::Lane::kUrgent, budget, Reach::kToTheEnd);
    if (!link.quarantined()) count += drain_lane(link, shm::Lane::kNormal, normal_budget, reach);
  }
  if (count == 0 && !link.quarantined()) return false;
  cut_short_ |= count >= budget;
  if (intake_.has_to_settle()) intake_.settle();
  if (link.rate() != nullptr) {
    const auto taken = link.position(shm::Lane::kNormal) - before;
    link.rate()->take(os::coarse_ns(), static_cast<std::uint32_t>(taken));
  }
  link.count_received(count);
  entries_.rings().ring_for_space(link);
  if (link.has_message()) return true;
  intake_.note_empty(link);
  if (link.owner_gone()) {
    entries_.links().index().pass_over(link);
    entries_.links().owners().call(link);
  }
  return true;
}

std::uint32_t Drain::drain_lane(InLink& link, shm::Lane lane, std::uint32_t budget, Reach reach) {
  intake_.begin_lane(link, lane);
  std::uint32_t count = 0;
  bool goes_on = true;
  while (goes_on) {
    const std::uint32_t run = sure_run(link, lane, budget - count);
    if (run == 0) break;
    const std::uint32_t taken = put_run(link, lane, run);
    count += taken;
    goes_on = taken == run;
  }
  const bool had_run = count != 0;
  if (goes_on && (!had_run || reach == Reach::kToTheEnd || os::ticks() >= link.end_due_ticks())) {
    while (count < budget && intake_.put_next(link, lane)) ++count;
    const bool is_its_end = had_run && lane == shm::Lane::kNormal && !link.has_message(lane);
    if (is_its_end) link.put_off_end(os::ticks() + kEndTicks);
  }
  intake_.end_lane();
  if (count != 0) entries_.commit(link, lane);
  return count;
}

// REQUIRES: so many wait.
std::uint32_t Drain::put_run(InLink& link, shm::Lane lane, std::uint32_t run) {
  for (std::uint32_t i = 1; i < std::min(run, kAskedAhead); ++i) link.prefetch_slot(lane, i);
  std::uint32_t count = 0;
  while (count < run) {
    if (count + kAskedAhead < run) link.prefetch_slot(lane, kAskedAhead);
    if (!intake_.put_next(link, lane)) break;
    ++count;
  }
  return count;
}

// How many messages of its normal lane the rate allows now.
std::uint32_t Drain::tokens_of(InLink& link, std::uint32_t budget) {
  const std::uint32_t tokens = link.rate()->available(os::coarse_ns());
  link.set_held_back(tokens == 0);
  return std::min(budget, tokens);
}

std::int64_t Drain::next_token_ns() const {
  const std::int64_t now = os::coarse_ns();
  std::int64_t next = shm::kForEver;
  for (std::size_t i = 0; i < entries_.links().looked_at(); ++i) {
    const InLink& link = entries_.links().at(i);
    if (!link.is_held_back() || !link.open() || !link.has_message(shm::Lane::kNormal)) continue;
    next = std::min(next, now + link.rate()->ns_until(now));
  }
  return next;
}

// A fifo inbox takes both lanes in the order in which the sender sent, as long as the rate allows,
// and the urgent lane alone after that.
std::uint32_t Drain::drain_merged(InLink& link, std::uint32_t budget, std::uint32_t normal_budget) {
  std::uint32_t count = 0;
  for (; count < budget; ++count) {
    auto lane = normal_budget != 0 ? next_in_order(link) : std::optional(shm::Lane::kUrgent);
    if (!lane) break;
    if (!intake_.put_next(link, *lane)) {
      // Data without room holds no order up, nor the messages before the order.
      if (link.quarantined() || *lane == shm::Lane::kUrgent || !holds_order(link)) break;
      lane = shm::Lane::kUrgent;
      if (!intake_.put_next(link, *lane)) break;
    }
    entries_.commit(link, *lane);
    if (*lane == shm::Lane::kNormal) --normal_budget;
  }
  return count;
}

// SUBTLE: each lane is looked at after the other was seen to hold a message. All that was sent
// before that message is visible then, and a single look at each would miss it.
std::optional<shm::Lane> Drain::next_in_order(const InLink& link) {
  bool normal = link.has_message(shm::Lane::kNormal);
  const bool urgent = link.has_message(shm::Lane::kUrgent);
  if (!urgent) return normal ? std::optional(shm::Lane::kNormal) : std::nullopt;
  if (!normal) normal = link.has_message(shm::Lane::kNormal);
  if (!normal) return shm::Lane::kUrgent;
  const auto number_at = [&](shm::Lane lane) {
    const auto& slot = link.view().slot(lane, link.position(lane));
    return shm::counter_of_message(slot.header.words[0].relaxed_load());
  };
  return number_at(shm::Lane::kNormal) < number_at(shm::Lane::kUrgent) ? shm::Lane::kNormal
                                                                       : shm::Lane::kUrgent;
}

}  // namespace beeline::receive
