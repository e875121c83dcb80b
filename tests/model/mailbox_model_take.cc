// An agent's message, compared with the next one of the model.

#include <algorithm>

#include "tests/model/mailbox_model.h"

namespace beeline::test {

// The next message of the listing, and those that must not be handed out.
void MailboxModel::received(Pid pid, const Listing& listing, const std::optional<Taken>& taken) {
  ModelAgent& agent = agents_.at(pid);
  const bool late = taken && comes_late(agent, *taken);
  for (const InboxItem& item : listing.items) {
    Letter* letter = agent.find(item.id);
    if (letter == nullptr || letter->place != LetterPlace::kQueued) continue;
    if (late && goes_before(*taken, *letter)) break;
    if (letter->kind == LetterKind::kCopy && letter->attempts != 0) {
      ++agent.copies_gone;
      agent.erase(item.id);
      continue;
    }
    if (letter->attempts >= agent.max_attempts) {
      bury(pid, *letter, "exhausted");
      continue;
    }
    if (!taken) return complain(pid, *letter, "is next and was not handed out");
    if (taken->id != letter->id) complain(pid, *letter, "is next and another was handed out");
    if (taken->id == letter->id) compare_taken(pid, *letter, *taken);
    if (Letter* got = agent.find(taken->id)) got->place = LetterPlace::kLeased;
    return;
  }
  if (taken && !late) {
    return complain(pid, "got #" + std::to_string(taken->number) + ", and nothing is there");
  }
  if (late) take_late(pid, *taken);
}

// Whether it lay in a lane when the others were seen, for lack of a place. An order to cancel that
// the look had seen for the first time may have given up its own place since.
bool MailboxModel::comes_late(ModelAgent& agent, const Taken& taken) {
  const Letter* letter = agent.find(taken.id);
  return letter != nullptr && letter->place == LetterPlace::kLane;
}

bool MailboxModel::goes_before(const Taken& taken, const Letter& letter) {
  return std::pair(!taken.is_control, taken.rank) < std::pair(!letter.control, letter.rank);
}

void MailboxModel::take_late(Pid pid, const Taken& taken) {
  ModelAgent& agent = agents_.at(pid);
  Letter& letter = *agent.find(taken.id);
  const bool overtakes = std::any_of(agent.letters.data(), &letter, [&](const Letter& each) {
    const bool of_lane = each.place == LetterPlace::kLane && each.from == letter.from &&
                         each.life == letter.life && each.urgent == letter.urgent;
    return of_lane && each.kind == LetterKind::kData && each.sure && !each.fog;
  });
  if (overtakes) complain(pid, letter, "overtook one of its lane");
  const bool dead = agents_.at(letter.from).state == AgentLife::kDead;
  if (dead && taken.rank == letter.rank_of_dead) letter.rank = letter.rank_of_dead;
  letter.sure = true;
  letter.round = ++round_;
  letter.place = LetterPlace::kLeased;
  compare_taken(pid, letter, taken);
}

void MailboxModel::compare_taken(Pid pid, const Letter& letter, const Taken& taken) {
  const auto check = [&](bool right, const char* what) {
    if (!right) complain(pid, letter, std::string("was handed out with a wrong ") + what);
  };
  check(taken.from == letter.from, "sender");
  check(taken.number == letter.number, "payload");
  check(taken.rank == letter.rank, "rank");
  check(taken.reply_to == letter.reply_to, "reply_to");
  check(taken.attempts == letter.attempts, "number of attempts");
  check(taken.redelivered == (letter.attempts != 0 || letter.revived), "flag redelivered");
  check(taken.is_copy == (letter.kind == LetterKind::kCopy), "flag of a copy");
  check(taken.is_control == letter.control, "flag of a control message");
  check(taken.requires_ack == letter.requires_ack, "flag requires_ack");
  const bool stranger = agents_.at(letter.from).state == AgentLife::kDead &&
                        taken.relation == Relation::kOther;  // dead agents are not known any more
  check(stranger || taken.relation == relation(letter.from, pid), "relation");
  if (letter.kind != LetterKind::kCopy) return check(taken.to == pid, "addressee");
  check(static_cast<Pid>(taken.cause >> 40) == letter.from, "cause");
  const auto to = agents_.find(taken.to);
  check(to != agents_.end() && to->second.parent == pid, "addressee");
}

void MailboxModel::drained_results(Pid pid, const std::vector<Taken>& results) {
  ModelAgent& agent = agents_.at(pid);
  std::vector<MessageId> expected;
  for (const MessageId id : agent.ids(LetterPlace::kStashed)) {
    Letter& letter = *agent.find(id);
    if (letter.kind == LetterKind::kAck) continue;
    if (letter.attempts >= agent.max_attempts) {
      bury(pid, letter, "exhausted");
    } else {
      expected.push_back(id);
    }
  }
  for (const Taken& each : results) {
    if (std::erase(expected, each.id) == 0) {
      complain(pid, "got #" + std::to_string(each.number) + " as a result, and it is none");
      continue;
    }
    compare_taken(pid, Letter(*agent.find(each.id)), each);
    done(pid, each.id);
  }
  for (const MessageId id : expected)
    complain(pid, *agent.find(id), "is a result and did not come");
}

}  // namespace beeline::test
