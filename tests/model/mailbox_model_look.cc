// An agent's view of its inbox, compared with the model.

#include <algorithm>
#include <cstdlib>

#include "tests/model/mailbox_model.h"

namespace beeline::test {

// One look. The letters of the agent stay in place while it lasts: acknowledgements because of it
// are sent at its end.
struct MailboxModel::Look {
  Pid pid;
  ModelAgent& agent;
  const Listing& listing;
  std::vector<const InboxItem*> items{};  // by letter, null if it is not listed
  std::set<std::size_t> erased{};
  struct Refused {
    Letter letter;
    std::string reason;
    bool sure;
  };
  std::vector<Refused> refused{};
  bool full = false;               // the table, for ordinary messages
  bool urgent_full = false;        // the same, for all messages
  std::size_t too_many_aside = 0;  // how many unfetched messages may go

  // Whether an earlier life of its sender has left a message in a lane.
  [[nodiscard]] bool follows(const Letter& letter) const {
    const auto& all = agent.letters;
    return std::any_of(all.begin(), all.end(), [&](const Letter& each) {
      return each.place == LetterPlace::kLane && each.from == letter.from &&
             each.life < letter.life && item_of(each) == nullptr;
    });
  }
  [[nodiscard]] const InboxItem* item_of(const Letter& letter) const {
    return items[static_cast<std::size_t>(&letter - agent.letters.data())];
  }
  void erase(const Letter& letter) {
    erased.insert(static_cast<std::size_t>(&letter - agent.letters.data()));
  }
  void bury(Letter& letter, const std::string& reason, bool sure = true) {
    letter.place = LetterPlace::kDead;
    letter.reason = reason;
    letter.deferred = false;
    agent.cancelled.erase(letter.id);
    agent.maybe_cancelled.erase(letter.id);
    refuse(letter, reason, sure && !letter.may_be_gone);
  }
  void refuse(const Letter& letter, const std::string& reason, bool sure) {
    if (letter.requires_ack) refused.push_back({letter, reason, sure});
  }
  [[nodiscard]] bool has_most_letters() const {
    return listing.counters.dead == agent.most_letters();
  }
  // Whether it was asked for, or claims to be an answer: then it goes to the stash.
  [[nodiscard]] bool is_answer(const Letter& letter) const {
    if (letter.kind != LetterKind::kData || letter.reply_to == 0 || letter.control) return false;
    return letter.type == kTaskResponse || agent.asked.contains({letter.reply_to, letter.from});
  }
  // The same, or it was so in an interrupted life.
  [[nodiscard]] bool may_come_aside(const Letter& letter) const {
    if (letter.kind == LetterKind::kAck || is_answer(letter)) return true;
    const InboxItem* item = item_of(letter);
    return letter.kind == LetterKind::kData && item != nullptr && item->stashed;
  }
  void count_aside() {
    const auto aside = static_cast<std::size_t>(
        std::count_if(agent.letters.begin(), agent.letters.end(), [&](const Letter& each) {
          if (each.place == LetterPlace::kLane) return may_come_aside(each);
          return each.place == LetterPlace::kStashed;
        }));
    too_many_aside = aside - std::min<std::size_t>(aside, agent.capacity / 4);
  }
};

namespace {

constexpr char kMark = '#';  // before the number in a payload

std::uint32_t number_of(const InboxItem& item) {
  if (item.preview.empty() || item.preview[0] != kMark) return 0;
  return static_cast<std::uint32_t>(std::strtoul(item.preview.c_str() + 1, nullptr, 10));
}

LetterPlace place_of(const InboxItem& item) {
  if (item.dead) return LetterPlace::kDead;
  if (item.leased) return LetterPlace::kLeased;
  return item.stashed ? LetterPlace::kStashed : LetterPlace::kQueued;
}

bool is_copy(const InboxItem& item) { return item.type.starts_with(kSiblingTraffic); }

// Whether a letter with an unknown id may be this one.
bool looks_like(const Letter& letter, const InboxItem& item) {
  if (letter.id != 0 || letter.from != item.from || letter.reply_to != item.reply_to) return false;
  if (letter.kind == LetterKind::kAck) {
    return item.stashed && item.type.empty() && item.preview == letter.text;
  }
  return letter.number == number_of(item) && (letter.kind == LetterKind::kCopy) == is_copy(item);
}

}  // namespace

void MailboxModel::looked(Pid pid, const Listing& listing) {
  Look look{pid, agents_.at(pid), listing};
  ++round_;
  const std::uint32_t reserve = std::max(2U, look.agent.capacity / 16);
  const InboxCounters& counts = listing.counters;
  const std::uint64_t used = counts.queued + counts.leased + counts.dead;
  look.full = used + reserve >= look.agent.capacity;
  look.urgent_full = used + std::max(1U, reserve / 4) >= look.agent.capacity;
  pair_up(look);
  look.count_aside();
  obey_orders(look);
  drain(look);
  compare_all(look);
  check_order(look);
  check_counters(look);
  check_links(look);
  std::size_t at = 0;
  std::erase_if(look.agent.letters, [&](const Letter&) { return look.erased.contains(at++); });
  for (const Look::Refused& each : look.refused) {
    acknowledge(pid, each.letter, AckStatus::kRejected, each.reason, each.sure);
  }
}

void MailboxModel::pair_up(Look& look) {
  std::vector<Letter>& letters = look.agent.letters;
  look.items.assign(letters.size(), nullptr);
  for (const InboxItem& item : look.listing.items) {
    auto found = std::find_if(letters.begin(), letters.end(),
                              [&](const Letter& each) { return each.id == item.id; });
    for (const bool sure : {true, false}) {
      if (found != letters.end()) break;
      found = std::find_if(letters.begin(), letters.end(), [&](const Letter& each) {
        return each.sure == sure && looks_like(each, item);
      });
    }
    const std::string what = "its inbox holds message " +
                             std::to_string(item.id & ((1ULL << 40) - 1)) + " \"" + item.type +
                             "\" \"" + item.preview + "\" of agent " + std::to_string(item.from);
    if (found == letters.end()) {
      complain(look.pid, what + ", which nobody has sent or which is done");
      continue;
    }
    const InboxItem*& place = look.items[static_cast<std::size_t>(found - letters.begin())];
    if (place != nullptr) complain(look.pid, what + " twice");
    place = &item;
    found->id = item.id;
    found->may_be_gone = false;
  }
}

// Orders to cancel go before their messages, and are never seen.
void MailboxModel::obey_orders(Look& look) {
  for (Letter& order : look.agent.letters) {
    if (order.kind != LetterKind::kCancel) continue;
    if (look.urgent_full || (look.full && look.follows(order))) {
      order.sure = false;  // nobody can see whether it came in
      look.agent.maybe_cancelled.insert(order.reply_to);
      if (Letter* target = look.agent.find(order.reply_to)) target->fog = true;
      continue;
    }
    if (order.from == static_cast<Pid>(order.reply_to >> 40)) cancel(look, order);
    look.erase(order);
  }
}

void MailboxModel::cancel(Look& look, const Letter& order) {
  Letter* target = look.agent.find(order.reply_to);
  if (target != nullptr && target->place == LetterPlace::kDead) {
    // No message is left to cancel, should it be put back later.
    look.agent.maybe_cancelled.erase(order.reply_to);
    return;
  }
  if (!order.sure) {
    look.agent.maybe_cancelled.insert(order.reply_to);
    if (target != nullptr) target->fog = true;
    return;
  }
  const bool waits = target != nullptr && (target->place == LetterPlace::kQueued ||
                                           target->place == LetterPlace::kStashed);
  if (waits && !target->fog) return look.bury(*target, "cancelled");
  look.agent.cancelled.insert(order.reply_to);
}

// Messages in lanes come in, in the order of each lane, unless the table is full.
void MailboxModel::drain(Look& look) {
  struct Lane {
    Pid from;
    std::uint64_t life;
    bool urgent;
    auto operator<=>(const Lane&) const = default;
  };
  std::set<Lane> stopped;
  for (Letter& letter : look.agent.letters) {
    if (letter.place != LetterPlace::kLane || letter.kind == LetterKind::kCancel) continue;
    const Lane lane{letter.from, letter.life, letter.urgent};
    if (look.item_of(letter) != nullptr) {
      if (stopped.contains(lane)) complain(look.pid, letter, "overtook one of its lane");
      arrive(look, letter);
      continue;
    }
    stay(look, letter, look.full && look.follows(letter));
    const bool stays = letter.sure && letter.kind == LetterKind::kData;
    if (stays && !letter.fog) stopped.insert(lane);
  }
}

// `behind`: a message of an earlier life of its sender may stay.
void MailboxModel::stay(Look& look, Letter& letter, bool behind) {
  const bool full = behind || (letter.urgent ? look.urgent_full : look.full);
  if (letter.kind == LetterKind::kCopy) {
    // Copies go first if room is short; the counter says how many.
    if (letter.sure && !letter.may_be_gone && !full) ++look.agent.copies_gone;
    letter.sure = false;
    if (!full) look.erase(letter);
    return;
  }
  if (letter.for_ever) return;
  if (letter.sure || !full) pass(look, letter, full);
  if (full) return;
  if (letter.sure && !letter.may_be_gone) {
    complain(look.pid, letter, "was accepted and is not in the inbox, which has room");
  }
  look.erase(letter);
}

// It may have come in and gone at once: cancelled, or one too many aside. Then it became a dead
// letter, and gave way to others. `full`: it may also still lie in its lane.
void MailboxModel::pass(Look& look, Letter& letter, bool full) {
  const bool taken_back = look.agent.may_be_cancelled(letter) && look.has_most_letters();
  if (!taken_back && !may_lose_aside(look, letter)) return;
  const bool sure = letter.sure && !full && !letter.fog && !letter.may_be_gone;
  look.refuse(letter, taken_back ? "cancelled" : "unclaimed", sure);
  if (!taken_back && !full) --look.too_many_aside;
  letter.sure = false;
}

// Whether it may have gone because too many messages lie aside. An answer becomes a dead letter,
// and goes first.
bool MailboxModel::may_lose_aside(const Look& look, const Letter& letter) {
  if (look.too_many_aside == 0) return false;
  if (letter.place == LetterPlace::kLane && !look.may_come_aside(letter)) return false;
  return letter.kind == LetterKind::kAck || look.has_most_letters();
}

void MailboxModel::arrive(Look& look, Letter& letter) {
  letter.sure = true;
  letter.round = round_;
  // A dead agent has no place in the directory any more.
  const bool dead = agents_.at(letter.from).state == AgentLife::kDead;
  if (dead && look.item_of(letter)->rank == letter.rank_of_dead) letter.rank = letter.rank_of_dead;
  // An agent remembers the newest 1,024 questions that have ended.
  letter.fog |= look.is_answer(letter) && look.agent.asked.size() > 1024;
  const bool stashed = letter.kind == LetterKind::kAck || look.is_answer(letter);
  letter.place = stashed ? LetterPlace::kStashed : LetterPlace::kQueued;
  letter.fog |= look.agent.maybe_cancelled.contains(letter.id);
  if (!letter.fog && look.agent.cancelled.contains(letter.id)) look.bury(letter, "cancelled");
}

void MailboxModel::compare_all(Look& look) {
  for (std::size_t i = 0; i < look.agent.letters.size(); ++i) {
    Letter& letter = look.agent.letters[i];
    if (letter.place == LetterPlace::kLane) continue;
    if (look.items[i] == nullptr) {
      miss(look, letter);
    } else if (letter.fog) {
      adopt(look, letter, *look.items[i]);
    } else {
      compare(look, letter, *look.items[i]);
    }
  }
}

void MailboxModel::miss(Look& look, Letter& letter) {
  const bool dropped = letter.kind == LetterKind::kCopy && letter.place == LetterPlace::kQueued;
  // An interrupted call may have let it die.
  const bool taken_back = letter.fog && look.agent.may_be_cancelled(letter);
  const bool dead =
      letter.place == LetterPlace::kDead || taken_back || look.agent.may_be_exhausted(letter);
  const bool pushed_out = dead && look.has_most_letters();
  if (taken_back) look.refuse(letter, "cancelled", false);
  const bool lost_aside = letter.place == LetterPlace::kStashed && may_lose_aside(look, letter);
  if (lost_aside) {
    --look.too_many_aside;
    look.refuse(letter, "unclaimed", !letter.fog);
    // An interrupted call may have cancelled it instead.
    if (letter.fog) look.refuse(letter, "cancelled", false);
  }
  if (dropped && !letter.may_be_gone) ++look.agent.copies_gone;
  if (!dropped && !pushed_out && !lost_aside && !letter.may_be_gone)
    complain(look.pid, letter, "is lost");
  look.erase(letter);
}

void MailboxModel::compare(Look& look, Letter& letter, const InboxItem& item) {
  if (letter.place == LetterPlace::kStashed && item.dead && look.too_many_aside != 0) {
    --look.too_many_aside;
    look.bury(letter, "unclaimed");
  }
  const auto differs = [&](const std::string& what, auto is, auto should) {
    if (is == should) return;
    complain(look.pid, letter,
             "its " + what + " is " + std::to_string(is) + ", not " + std::to_string(should));
  };
  differs("place", static_cast<int>(place_of(item)), static_cast<int>(letter.place));
  differs("attempts", item.attempts, letter.attempts);
  differs("sender", item.from, letter.from);
  differs("reply_to", item.reply_to, letter.reply_to);
  if (letter.kind != LetterKind::kAck) differs("rank", item.rank, letter.rank);
  if (item.type != letter.type) complain(look.pid, letter, "its type is \"" + item.type + "\"");
  if (letter.kind == LetterKind::kAck && item.preview != letter.text) {
    complain(look.pid, letter, "says \"" + item.preview + "\", not \"" + letter.text + "\"");
  }
  if (letter.place == LetterPlace::kDead && item.reason != letter.reason) {
    complain(look.pid, letter, "is dead: \"" + item.reason + "\", not \"" + letter.reason + "\"");
  }
}

// An interrupted call had one of two outcomes; the item shows which.
void MailboxModel::adopt(Look& look, Letter& letter, const InboxItem& item) {
  const LetterPlace place = place_of(item);
  if (item.attempts < letter.attempts || item.attempts > letter.attempts + letter.more_attempts) {
    complain(look.pid, letter, "has " + std::to_string(item.attempts) + " attempts after a kill");
  }
  if (place == LetterPlace::kDead && letter.place != LetterPlace::kDead) {
    look.bury(letter, item.reason, false);
    if (item.reason != "cancelled" && item.reason != "exhausted" && item.reason != "unclaimed") {
      complain(look.pid, letter, "is dead after a kill: " + item.reason);
    }
  }
  const bool waits = place == LetterPlace::kQueued || place == LetterPlace::kStashed;
  if (waits && look.agent.cancelled.contains(letter.id)) {
    complain(look.pid, letter, "was taken back and still waits");
  }
  // An order meets its message when one of the two comes, and neither has.
  if (waits) look.agent.maybe_cancelled.erase(letter.id);
  letter.place = place;
  letter.attempts = item.attempts;
  letter.more_attempts = 0;
  letter.fog = false;
}

// Control first, then by rank, then by the time of sending, as far as the table distinguishes it,
// then by arrival: messages that were seen earlier, and those of one sender in the order of their
// sends (HK-010, C-03, C-15).
void MailboxModel::check_order(Look& look) {
  struct Key {
    bool data;
    std::int32_t rank;
    std::int64_t sent_us;
    std::uint64_t round;
    auto operator<=>(const Key&) const = default;
  };
  std::optional<Key> before;
  std::map<Pid, const Letter*> last;
  for (const InboxItem& item : look.listing.items) {
    const Letter* letter = look.agent.find(item.id);
    if (letter == nullptr || letter->place != LetterPlace::kQueued) continue;
    if (place_of(item) != LetterPlace::kQueued) continue;
    Key now{false, 0, 0, letter->round};
    if (!letter->control) now = {true, letter->rank, item.sent_ns / 1000, letter->round};
    if (before && now < *before) complain(look.pid, *letter, "comes too late in the order");
    if (!before || now != *before) last.clear();
    const Letter*& earlier = last[letter->from];
    const bool known = letter->number != 0;  // copies of orders to cancel may all be alike
    if (known && earlier != nullptr && earlier > letter) {
      complain(look.pid, *letter, "comes after one that its sender sent later");
    }
    if (known) earlier = letter;
    before = now;
  }
}

void MailboxModel::check_counters(Look& look) {
  const InboxCounters& now = look.listing.counters;
  const auto count = [&](LetterPlace place) {
    const auto& items = look.listing.items;
    return static_cast<std::uint64_t>(
        std::count_if(items.begin(), items.end(),
                      [&](const InboxItem& item) { return place_of(item) == place; }));
  };
  if (now.drained != now.queued + now.leased + now.done + now.dead + now.purged) {
    complain(look.pid, "its counters do not add up");
  }
  const std::uint64_t queued = count(LetterPlace::kQueued) + count(LetterPlace::kStashed);
  const std::uint64_t leased = count(LetterPlace::kLeased);
  const std::uint64_t dead = count(LetterPlace::kDead);
  // An order to cancel a message that is still in a lane waits in the table, and is not listed.
  const std::uint64_t hidden = look.full ? now.queued - std::min(now.queued, queued) : 0;
  if (now.queued != queued + hidden || now.leased != leased || now.dead != dead) {
    complain(look.pid, "it lists " + std::to_string(queued) + " queued, " + std::to_string(leased) +
                           " leased and " + std::to_string(dead) + " dead messages and counts " +
                           std::to_string(now.queued) + ", " + std::to_string(now.leased) +
                           " and " + std::to_string(now.dead));
  }
  if (now.quarantined_links != 0) complain(look.pid, "has links in quarantine");
  if (look.agent.copies_gone > now.copies_dropped) {
    complain(look.pid, std::to_string(look.agent.copies_gone) + " copies are gone, " +
                           std::to_string(now.copies_dropped) + " were dropped");
  }
}

// C-37: copies that a parent did not get are counted.
void MailboxModel::check_links(Look& look) {
  for (const LinkCounters& link : look.listing.links) {
    if (!agents_.contains(link.peer) || agents_.at(link.peer).state == AgentLife::kDead) continue;
    const std::uint64_t sure = look.agent.sent[link.peer];
    // A message that came in and was cancelled after the last look: its sender knows by now.
    const auto told = static_cast<std::uint64_t>(
        std::count_if(look.refused.begin(), look.refused.end(),
                      [&](const auto& each) { return each.letter.from == link.peer; }));
    const std::uint64_t most = sure + look.agent.maybe_sent[link.peer] + told;
    const std::uint64_t now = link.sent + link.copies_dropped;
    if (now >= sure && now <= most) continue;
    complain(look.pid, "has sent " + std::to_string(link.sent) + " messages to agent " +
                           std::to_string(link.peer) + " and dropped " +
                           std::to_string(link.copies_dropped) + " copies, that should be " +
                           std::to_string(sure) + " to " + std::to_string(most));
  }
}

}  // namespace beeline::test
