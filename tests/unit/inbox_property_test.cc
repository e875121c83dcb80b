// The inbox table against a small model. Messages are put, committed, taken, finished, buried,
// revived or taken over by a successor, in any order. Every message is then where the model says,
// and drained_total() = queued + leased + dead + done + purged.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tests/support/soak.h"
#include "tests/unit/segment_memory.h"

namespace beeline::shm {
namespace {

enum class What {
  kPut,  // not committed yet
  kCommit,
  kTakeBest,
  kTakeFound,
  kTakeUnindexed,
  kStash,
  kDone,
  kRequeue,
  kBury,
  kRevive,
  kPurge,
  kRebuild,
  kGrow,
  kCloseRow,
  kTakeOver,         // killed between two steps
  kTakeOverStamped,  // killed in done(), between stamp and free
};

struct Operation {
  What what = What::kPut;
  std::int32_t rank = 0;
  std::uint32_t pick = 0;
  std::uint32_t kind = 0;  // of a new message: its lane, inline or slab, matched or not
};

std::ostream& operator<<(std::ostream& out, const Operation& operation) {
  return out << '{' << static_cast<int>(operation.what) << ", rank " << operation.rank << ", pick "
             << operation.pick << ", kind " << operation.kind << '}';
}

rc::Gen<Operation> any_operation() {
  return rc::gen::build<Operation>(
      rc::gen::set(&Operation::what, rc::gen::weightedElement<What>({{30, What::kPut},
                                                                     {12, What::kCommit},
                                                                     {16, What::kTakeBest},
                                                                     {4, What::kTakeFound},
                                                                     {3, What::kTakeUnindexed},
                                                                     {2, What::kStash},
                                                                     {12, What::kDone},
                                                                     {6, What::kRequeue},
                                                                     {4, What::kBury},
                                                                     {3, What::kRevive},
                                                                     {3, What::kPurge},
                                                                     {1, What::kRebuild},
                                                                     {1, What::kGrow},
                                                                     {3, What::kCloseRow},
                                                                     {1, What::kTakeOver},
                                                                     {1, What::kTakeOverStamped}})),
      rc::gen::set(&Operation::rank,
                   rc::gen::weightedOneOf<std::int32_t>(
                       {{8, rc::gen::inRange<std::int32_t>(-1, 4)},
                        {1, rc::gen::element<std::int32_t>(INT32_MIN, INT32_MAX)}})),
      rc::gen::set(&Operation::pick, rc::gen::inRange<std::uint32_t>(0, 10'000)),
      rc::gen::set(&Operation::kind, rc::gen::inRange<std::uint32_t>(0, 64)));
}

constexpr std::uint32_t kCapacity = 64;
constexpr std::uint32_t kFirstEntries = 16;
constexpr std::size_t kStoryRows = 2;

struct Message {
  std::uint64_t id = 0;
  EntryWord word;
  Lane lane = Lane::kNormal;
  bool indexed = true;
  SlabIndex slab = kNoSlab;
  IndexNode node{};  // its place in the order; key and arrival find it again in every life
};

// One in-link as the receiver sees it.
struct InLink {
  std::uint32_t serial = 1;
  std::uint64_t next[kLanes]{};       // position of the next message put
  std::uint64_t committed[kLanes]{};  // the cursor
  std::array<std::uint64_t, kMaxSlabs> generation{};
};

// One life of the agent: its home, and its own link, which holds the stamps.
struct Life {
  test::HomeMemory memory{kCapacity};
  test::LinkMemory own;
  Inbox inbox{memory.home, memory.free_stack};

  void allocate(std::uint32_t from, std::uint32_t to) {
    inbox.grow_index(to);
    inbox.add_entries(from, to);
  }
};

// Cheaper than RC_ASSERT, which formats every expression, in the loops below.
void require(bool holds, int line = __builtin_LINE()) {
  if (!holds) RC_FAIL("the model differs: line " + std::to_string(line));
}

class Story {
 public:
  Story() {
    life_->memory.home.control().index.size = 0;
    life_->allocate(0, kFirstEntries);
    for (std::uint16_t row = 0; row < kStoryRows; ++row) {
      // Close to where the low half of a position wraps.
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        links_[row].next[lane] = links_[row].committed[lane] = 0xffff'ffe0 * (row ^ 1U);
      }
      open_rows(row);
    }
    // All messages that were taken before this story began are done.
    done_ = drained_total(home());
    home().control().counters.done.publish(done_);
  }

  void step(const Operation& operation) {
    apply(operation);
    check();
  }

 private:
  using Place = std::map<EntryIndex, Message>::iterator;

  void apply(const Operation& operation) {
    switch (operation.what) {
      case What::kPut:
        return put(operation);
      case What::kCommit:
        return commit();
      case What::kTakeBest:
        return take_best();
      case What::kTakeFound:
        return take_found(operation.pick);
      case What::kTakeUnindexed:
        return take_unindexed(operation.pick);
      case What::kStash:
        return stash(operation.pick);
      case What::kDone:
        return done(operation.pick);
      case What::kRequeue:
        return requeue(operation.pick);
      case What::kBury:
        return bury(operation.pick);
      case What::kRevive:
        return revive(operation.pick);
      case What::kPurge:
        return purge();
      case What::kRebuild:
        return rebuild();
      case What::kGrow:
        return grow();
      case What::kCloseRow:
        return close(operation.pick);
      case What::kTakeOver:
        return take_over();
      case What::kTakeOverStamped:
        return take_over_stamped(operation.pick);
    }
  }

  Inbox& inbox() { return life_->inbox; }
  [[nodiscard]] const Home& home() const { return life_->memory.home; }
  [[nodiscard]] LinkKey key_of(std::uint16_t row) const {
    return {test::kSenderLife + row, links_[row].serial};
  }
  void open_rows(std::uint16_t row) {
    const InLink& link = links_[row];
    open_row(home().row(RowIndex(row)), key_of(row), test::kSenderPid, link.committed[0],
             link.committed[1]);
    open_bank(life_->own.link.bank(row), key_of(row), link.committed[0], link.committed[1]);
    life_->own.link.bank(row).stamps_ready.publish(1);
  }
  Atomic<std::uint64_t>* stamp_of(const Message& message) {
    if (message.slab == kNoSlab) return nullptr;
    return &life_->own.link.stamp(message.word.row.value(), message.slab);
  }

  // A random item that `matches`; none if there is none.
  template <typename Matches>
  std::optional<Place> choose(std::uint32_t pick, Matches&& matches) {
    std::vector<Place> places;
    for (auto at = model_.begin(); at != model_.end(); ++at) {
      if (matches(at->second)) places.push_back(at);
    }
    if (places.empty()) return std::nullopt;
    return places[pick % places.size()];
  }
  std::optional<Place> choose(std::uint32_t pick, EntryState state) {
    return choose(pick, [&](const Message& message) { return message.word.state == state; });
  }
  // The first item in delivery order that `matches`; kNoEntry if there is none.
  template <typename Matches>
  EntryIndex first(Matches&& matches) const {
    const std::pair<const EntryIndex, Message>* best = nullptr;
    for (const auto& place : model_) {
      const Message& message = place.second;
      if (message.word.state != EntryState::kQueued || !message.indexed) continue;
      if (!matches(message)) continue;
      if (best == nullptr || message.node.before(best->second.node)) best = &place;
    }
    return best == nullptr ? kNoEntry : best->first;
  }

  void put(const Operation& operation) {
    if (inbox().free_count() == 0) grow();
    if (inbox().free_count() == 0) return take_best();
    const auto row = static_cast<std::uint16_t>(operation.kind & 1);
    const Lane lane = (operation.kind & 2) != 0 ? Lane::kUrgent : Lane::kNormal;
    const bool indexed = (operation.kind & 28) != 0;
    InLink& link = links_[row];
    std::uint64_t& next = link.next[static_cast<std::size_t>(lane)];

    ++counter_;
    SlotCopy copy = test::inline_message(counter_, std::to_string(counter_));
    Message message;
    if (operation.kind >= 48) {
      message.slab = free_slab(row, operation.pick);
      copy = test::slab_message(counter_, message.slab, ++link.generation[message.slab.value()]);
    }
    copy.header.rank = operation.rank;
    message.id = copy.header.id;
    message.lane = lane;
    message.indexed = indexed;
    message.word = {EntryState::kQueued, 0, RowIndex(row), static_cast<std::uint32_t>(next)};
    now_ns_ += operation.pick % 4 == 0 ? 4'000'000 : 0;
    const EntryIndex at =
        inbox().put(copy, RowIndex(row), lane, next++, now_ns_, indexed ? 0 : kFlagMatched);
    message.node = inbox().node_of(at);
    require(model_.emplace(at, message).second);
    ++uncommitted_;
  }
  SlabIndex free_slab(std::uint16_t row, std::uint32_t pick) const {
    for (SlabIndex slab(pick % 128);; slab = SlabIndex((slab.value() + 1) % 128)) {
      const bool busy = std::any_of(model_.begin(), model_.end(), [&](const auto& place) {
        return place.second.slab == slab && place.second.word.row == RowIndex(row);
      });
      if (!busy) return slab;
    }
  }
  void commit() {
    for (std::uint16_t row = 0; row < kStoryRows; ++row) {
      for (const Lane lane : {Lane::kNormal, Lane::kUrgent}) {
        InLink& link = links_[row];
        const auto index = static_cast<std::size_t>(lane);
        inbox().commit(RowIndex(row), lane, link.next[index]);
        link.committed[index] = link.next[index];
      }
    }
    uncommitted_ = 0;
  }

  void lease(EntryIndex at) {
    Message& message = model_.at(at);
    message.word.state = EntryState::kLeased;
  }
  void take_best() {
    commit();
    const EntryIndex at = inbox().take_best();
    if (at != kNoEntry) lease(at);
  }
  // The item that a lease would take.
  EntryIndex best() {
    OrderIndex index = inbox().index();
    const IndexNode* const node = index.front();
    return node == nullptr ? kNoEntry : node->entry();
  }
  void take_found(std::uint32_t pick) {
    commit();
    const std::uint64_t rest = pick % 3;
    const EntryIndex at =
        inbox().find([&](const Entry& entry) { return entry.header.id % 3 == rest; });
    require(at == first([&](const Message& message) { return message.id % 3 == rest; }));
    if (at == kNoEntry) return;
    inbox().take(at);
    lease(at);
  }
  static bool is_aside(const Message& message) {
    return message.word.state == EntryState::kQueued && !message.indexed;
  }
  void take_unindexed(std::uint32_t pick) {
    commit();
    if (const auto place = choose(pick, is_aside)) {
      inbox().take_unindexed((*place)->first);
      lease((*place)->first);
    }
  }
  void stash(std::uint32_t pick) {
    if (const auto place = choose(pick, is_aside)) {
      inbox().stash((*place)->first);
    }
  }
  void done(std::uint32_t pick) {
    if (const auto place = choose(pick, EntryState::kLeased)) {
      inbox().done((*place)->first, stamp_of((*place)->second));
      model_.erase(*place);
      ++done_;
    }
  }
  void requeue(std::uint32_t pick) {
    if (const auto place = choose(pick, EntryState::kLeased)) {
      inbox().requeue((*place)->first);
      back_to_queue((*place)->second);
    }
  }
  static void back_to_queue(Message& message) {
    message.word.state = EntryState::kQueued;
    if (message.word.attempts != 255) ++message.word.attempts;
  }
  void bury(std::uint32_t pick) {
    if (const auto place = choose(pick, EntryState::kLeased)) {
      inbox().bury((*place)->first, DeadReason::kRejected);
      (*place)->second.word.state = EntryState::kDead;
    }
  }
  void revive(std::uint32_t pick) {
    if (const auto place = choose(pick, EntryState::kDead)) {
      const EntryIndex at = (*place)->first;
      inbox().revive(at);
      require(home().entry(at).is_revived());
      require(home().entry(at).reason() == DeadReason::kNone);
      Message& message = (*place)->second;
      message.word.state = EntryState::kQueued;
      message.word.attempts = 0;
      message.indexed = true;
    }
  }
  void purge() {
    if (inbox().letters().empty()) return;
    const EntryIndex at = inbox().letters().front();
    const Place place = model_.find(at);
    require(place->second.word.state == EntryState::kDead);
    inbox().purge(at, stamp_of(place->second));
    model_.erase(place);
    ++purged_;
  }
  void rebuild() { inbox().rebuild(); }
  void grow() {
    const std::uint32_t entries = home().entries_allocated();
    if (entries < kCapacity) life_->allocate(entries, 2 * entries);
  }
  // A link is released only if the table holds nothing of it.
  void close(std::uint32_t pick) {
    commit();
    const auto row = static_cast<std::uint16_t>(pick % kStoryRows);
    const bool in_use = std::any_of(model_.begin(), model_.end(), [&](const auto& place) {
      return place.second.word.row == RowIndex(row);
    });
    if (in_use) return;
    close_row(home().control(), home().row(RowIndex(row)));
    close_bank(life_->own.link.bank(row));
    for (SlabIndex slab(0); slab.value() < kMaxSlabs; ++slab) {
      life_->own.link.stamp(row, slab).publish(0);
    }
    links_[row] = InLink{links_[row].serial + 1, {}, {}, {}};
    open_rows(row);
  }

  void take_over_stamped(std::uint32_t pick) {
    commit();
    const auto place = choose(pick, [](const Message& message) {
      return message.word.state == EntryState::kLeased && message.slab != kNoSlab;
    });
    if (place) {
      const EntryIndex at = (*place)->first;
      stamp(*stamp_of((*place)->second), home().entry(at).generation);
      model_.erase(*place);
      ++done_;
    }
    take_over();
  }

  // The agent is killed; a successor copies the home. Uncommitted messages are still in their
  // lanes.
  void take_over() {
    const auto old = std::exchange(life_, std::make_unique<Life>());
    life_->memory.home.control().index.size = 0;
    life_->allocate(0, kCapacity);
    std::array<InheritedLink, kStoryRows> inherited;
    for (std::uint16_t row = 0; row < kStoryRows; ++row) {
      InheritedLink& link = inherited[row];
      link.key = key_of(row);
      link.owner_pid = test::kSenderPid;
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        link.cursors[lane] = old->memory.view.row(RowIndex(row)).cursors[lane].observe();
        require(link.cursors[lane] == links_[row].committed[lane]);
        links_[row].next[lane] = links_[row].committed[lane];
      }
      const LinkView& receipts = old->own.view;
      const std::size_t bank = receipts.find_bank(link.key);
      if (bank != kBanks && receipts.bank(bank).stamps_ready.relaxed_load() != 0) {
        copy_stamps(receipts, bank, link);
      }
      link.layout = LinkLayout(test::kSmallContract);
      link.verified = test::verify_all(link.layout);
      link.new_row = RowIndex(row);
      inherit_stamps(life_->own.link, row, link);
      open_rows(row);
    }
    inherit_entries(old->memory.view, inherited);
    uncommitted_ = 0;
    inbox().rebuild();
  }
  void inherit_entries(const HomeView& old, const std::array<InheritedLink, kStoryRows>& links) {
    std::map<EntryIndex, Message> survivors;
    for (EntryIndex from(0); from.value() < old.entries_allocated(); ++from) {
      const EntryCopy copy = copy_entry(old.entry(from));
      require(copy.word.state == EntryState::kFree || copy.word.row.value() < kStoryRows);
      const InheritedLink& link =
          links[copy.word.state == EntryState::kFree ? 0 : copy.word.row.value()];
      const Inherit verdict = judge_entry(copy, link, old.control().next_arrival);
      require(verdict != Inherit::kBad);
      if (verdict != Inherit::kTake) continue;
      const EntryIndex to(static_cast<std::uint32_t>(survivors.size()));
      inherit_entry(home(), to, copy, link.new_row);
      Message message = model_.at(from);
      model_.erase(from);
      if (message.word.state == EntryState::kLeased) back_to_queue(message);
      message.node = inbox().node_of(to);
      survivors.emplace(to, message);
    }
    require(model_.size() == uncommitted_);  // no committed message was lost
    inherit_counters(home(), old, survivors.size(), drained_total(old));
    model_ = std::move(survivors);
  }

  void check() {
    std::uint64_t count[4]{};
    std::uint32_t critical = 0;
    for (const auto& [at, message] : model_) {
      const Entry& entry = home().entry(at);
      require(entry.state.observe() == message.word.pack());
      require(entry.header.id == message.id);
      require(lane_of(entry.header) == message.lane);
      require(slab_of(entry.header) == message.slab);
      const std::string text = std::to_string(counter_of_message(message.id));
      require(entry.in_slab() || std::memcmp(entry.payload, text.data(), text.size()) == 0);
      ++count[static_cast<std::size_t>(message.word.state)];
      const bool queued = message.word.state == EntryState::kQueued;
      if (queued && message.indexed && entry.header.rank <= kRankCritical) ++critical;
    }
    const InboxCounters& counters = home().control().counters;
    require(inbox().queued() == count[1]);
    require(inbox().leased() == count[2]);
    require(inbox().dead() == count[3]);
    require(inbox().critical() == critical);
    require(inbox().free_count() + model_.size() == home().entries_allocated());
    require(counters.done.observe() == done_);
    require(counters.purged.observe() == purged_);
    require(drained_total(home()) + uncommitted_ == model_.size() + done_ + purged_);
    require(best() == first([](const Message&) { return true; }));
  }

  std::unique_ptr<Life> life_ = std::make_unique<Life>();
  std::array<InLink, kStoryRows> links_;
  std::map<EntryIndex, Message> model_;
  std::uint64_t counter_ = 0;
  std::uint64_t uncommitted_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t purged_ = 0;
  std::int64_t now_ns_ = 1'000'000'000;
};

TEST(InboxProperty, EveryMessageIsWhereTheModelSaysAndTheBalanceHoldsAfterEveryStep) {
  const int longest = beeline::test::is_brief() ? 1000 : 3000;
  std::size_t total = 0;
  const bool holds = rc::check("the inbox does as its model", [&] {
    const auto operations =
        *rc::gen::resize(longest, rc::gen::container<std::vector<Operation>>(any_operation()));
    total += operations.size();
    Story story;
    for (const Operation& operation : operations) story.step(operation);
  });
  EXPECT_TRUE(holds);
  EXPECT_GE(total, beeline::test::is_brief() ? 33'000U : 100'000U);
}

}  // namespace
}  // namespace beeline::shm
