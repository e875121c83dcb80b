#include "tests/model/mailbox_model.h"

#include <algorithm>

namespace beeline::test {

namespace {

Pid sender_of(MessageId id) { return static_cast<Pid>(id >> 40); }

}  // namespace

Letter* ModelAgent::find(MessageId id) {
  const auto found = std::find_if(letters.begin(), letters.end(),
                                  [id](const Letter& each) { return each.id == id; });
  return id == 0 || found == letters.end() ? nullptr : &*found;
}

void ModelAgent::erase(MessageId id) {
  std::erase_if(letters, [id](const Letter& each) { return each.id == id; });
}

std::vector<MessageId> ModelAgent::ids(LetterPlace place) const {
  std::vector<MessageId> result;
  for (const Letter& each : letters) {
    if (each.place == place && each.id != 0) result.push_back(each.id);
  }
  return result;
}

void MailboxModel::complain(Pid pid, const std::string& text) {
  complaints_.push_back("agent " + std::to_string(pid) + ": " + text);
}

void MailboxModel::complain(Pid pid, const Letter& letter, const std::string& text) {
  complain(pid, "message #" + std::to_string(letter.number) + " \"" + letter.type + "\" of agent " +
                    std::to_string(letter.from) + " (id " +
                    std::to_string(letter.id & ((1ULL << 40) - 1)) + ", kind " +
                    std::to_string(static_cast<int>(letter.kind)) + ", place " +
                    std::to_string(static_cast<int>(letter.place)) + ", attempts " +
                    std::to_string(letter.attempts) + " to " +
                    std::to_string(letter.attempts + letter.more_attempts) + "): " + text);
}

std::vector<std::string> MailboxModel::take_complaints() { return std::exchange(complaints_, {}); }

// ---- The tree -----------------------------------------------------------------------------------

ModelAgent& MailboxModel::attach(ModelAgent agent) {
  const auto known = agents_.find(agent.pid);
  if (known == agents_.end()) {
    const Pid pid = agent.pid;
    return agents_[pid] = std::move(agent);
  }
  ModelAgent& again = known->second;
  if (again.state != AgentLife::kAway || again.name != agent.name) {
    complain(agent.pid, "joined again, and was not away");
  }
  again.state = AgentLife::kRunning;
  ++again.life;
  // The next life reports the end of the last life's messages when it gets to them.
  for (const Letter& letter : std::exchange(again.untold, {})) {
    acknowledge(again.pid, letter, AckStatus::kRejected, "cancelled", false);
  }
  return again;
}

// HK-030 to HK-041, C-06, C-16.
SendStatus MailboxModel::route(Pid from, Pid to) const {
  const auto receiver = agents_.find(to);
  if (receiver == agents_.end()) return SendStatus::kNoAgent;
  if (receiver->second.state == AgentLife::kDead) return SendStatus::kPeerDead;
  const ModelAgent& sender = agents_.at(from);
  if (sender.task && sender.parent != to) return SendStatus::kDenied;
  return SendStatus::kOk;
}

// HK-006.
Relation MailboxModel::relation(Pid from, Pid to) const {
  const Pid above_from = agents_.at(from).parent;
  const Pid above_to = agents_.at(to).parent;
  if (above_to == from) return Relation::kParent;
  if (above_from == to) return Relation::kChild;
  return above_from == above_to ? Relation::kSibling : Relation::kOther;
}

bool MailboxModel::is_above(Pid upper, Pid lower) const {
  for (Pid at = agents_.at(lower).parent; at != kKing; at = agents_.at(at).parent) {
    if (at == upper) return true;
  }
  return false;
}

// HK-007, C-02.
std::int32_t MailboxModel::stored_rank(const Draft& draft, Relation relation) {
  const std::map<Relation, std::int32_t> base = {{Relation::kParent, kHigh},
                                                 {Relation::kSibling, kNormal},
                                                 {Relation::kChild, kLow},
                                                 {Relation::kOther, kLow}};
  std::int32_t rank = draft.control || draft.cancel ? kCritical : draft.rank;
  rank = std::min(std::clamp(rank, kCritical, kLow), base.at(relation));
  return draft.type == kEscalation ? std::min(rank, kHigh) : rank;
}

// Orders for messages in a lane wait in the table, where a successor finds them; but an order may
// have given up its place to let a message in.
void MailboxModel::leave_orders(ModelAgent& agent) {
  std::set<MessageId> open;
  for (const Letter& letter : agent.letters) {
    const bool waits = letter.place == LetterPlace::kLane;
    if (waits && agent.may_be_cancelled(letter)) open.insert(letter.id);
  }
  agent.cancelled.clear();
  agent.maybe_cancelled = std::move(open);
}

// The coordinator has the letters of a finally dead agent. Its messages in hand come again.
void MailboxModel::end(Pid pid, bool left) {
  ModelAgent& agent = agents_.at(pid);
  if (left) {
    for (const MessageId id : agent.ids(LetterPlace::kLeased)) requeued(pid, id, 1);
  }
  // No look has told yet which letters made room for others, or whether there were more.
  const std::uint64_t dead = agent.ids(LetterPlace::kDead).size();
  const auto failed = static_cast<std::uint64_t>(
      std::count_if(agent.letters.begin(), agent.letters.end(),
                    [&](const Letter& each) { return agent.may_be_exhausted(each); }));
  const std::uint64_t most = agent.most_letters();
  const std::uint64_t pushed_out = dead - std::min(dead, most);
  const std::uint64_t perhaps = dead + failed - std::min(dead + failed, most) - pushed_out;
  for (const MessageId id : agent.ids(LetterPlace::kLeased)) {
    Letter& letter = *agent.find(id);
    const bool cancelled = agent.cancelled.contains(id);
    const bool maybe_cancelled = agent.maybe_cancelled.contains(id);
    if ((cancelled || maybe_cancelled) && letter.requires_ack) agent.untold.push_back(letter);
    letter.fog |= maybe_cancelled;
    if (cancelled) {  // a successor does not hand it out again
      letter.place = LetterPlace::kDead;
      letter.reason = "cancelled";
      continue;
    }
    letter.place = LetterPlace::kQueued;
    ++(maybe_cancelled ? letter.more_attempts : letter.attempts);
  }
  for (Letter& letter : agent.letters) letter.deferred = false;
  agent.asked.clear();
  leave_orders(agent);
  agent.sent.clear();
  agent.maybe_sent.clear();
  agent.state = agent.temporary ? AgentLife::kDead : AgentLife::kAway;
  if (!agent.temporary) return;
  for (const Letter& letter : agent.letters) {
    // Copies, acknowledgements and orders were only for the dead agent.
    if (letter.kind != LetterKind::kData) continue;
    ++(letter.sure && !letter.may_be_gone ? dead_sure_ : dead_maybe_);
    if (letter.sure && !letter.may_be_gone) letters_left_.push_back({pid, letter});
  }
  dead_sure_ -= pushed_out + perhaps;
  dead_maybe_ += perhaps;
  agent.letters.clear();
}

// ---- Sending ------------------------------------------------------------------------------------

MailboxModel::Room MailboxModel::room(Pid from, Pid to, bool urgent, bool control) const {
  const ModelAgent& sender = agents_.at(from);
  Room room;
  room.slots = urgent ? sender.urgent_slots : sender.normal_slots;
  if (urgent && !control) room.slots -= room.slots / 4;
  for (const Letter& letter : agents_.at(to).letters) {
    if (letter.place != LetterPlace::kLane || letter.from != from) continue;
    if (letter.life != sender.life || letter.urgent != urgent) continue;
    ++room.most;
    if (letter.sure) ++room.sure;
    room.fog |= letter.fog;
  }
  return room;
}

Letter MailboxModel::letter_of(Pid from, Pid to, const Draft& draft) const {
  Letter letter;
  letter.from = from;
  letter.number = draft.number;
  letter.kind = draft.cancel ? LetterKind::kCancel : LetterKind::kData;
  letter.type = draft.type;
  letter.reply_to = draft.reply_to;
  letter.rank = stored_rank(draft, relation(from, to));
  letter.rank_of_dead = stored_rank(draft, Relation::kOther);
  letter.control = draft.control && is_above(from, to);
  letter.urgent = draft.control || draft.cancel || draft.rank <= kCritical;
  letter.requires_ack = draft.requires_ack;
  return letter;
}

void MailboxModel::post(Pid to, Letter letter) {
  letter.life = agents_.at(letter.from).life;
  agents_.at(to).letters.push_back(std::move(letter));
}

void MailboxModel::count(Pid from, Pid to, bool sure) {
  ModelAgent& sender = agents_.at(from);
  ++(sure ? sender.sent : sender.maybe_sent)[to];
}

bool MailboxModel::check_sent(Pid from, Pid to, const Draft& draft, const SendResult& result) {
  const SendStatus allowed = route(from, to);
  const auto said = [&](const std::string& text) {
    complain(from, "send of #" + std::to_string(draft.number) + " to agent " + std::to_string(to) +
                       " says " + std::string(to_string(result.status)) + ", " + text);
    return false;
  };
  if (allowed != SendStatus::kOk) {
    // Dead agents are forgotten after a minute.
    const bool forgotten =
        allowed == SendStatus::kPeerDead && result.status == SendStatus::kNoAgent;
    if (result.status == allowed || forgotten) return false;
    return said(std::string(to_string(allowed)) + " is right");
  }
  const bool urgent = letter_of(from, to, draft).urgent;
  const Room now = room(from, to, urgent, draft.control || draft.cancel);
  const std::string lane = std::to_string(now.sure) + " to " + std::to_string(now.most) + " of " +
                           std::to_string(now.slots) + " slots are taken";
  if (result.status == SendStatus::kFull) return now.most < now.slots && said(lane);
  if (result.status != SendStatus::kOk) return said("ok or full is right");
  return (now.sure < now.slots || now.fog) || said(lane);
}

void MailboxModel::check_id(Pid from, const Draft& draft, MessageId id) {
  ModelAgent& sender = agents_.at(from);
  if (sender_of(id) != from || id <= sender.last_id) {
    complain(from, "the id of #" + std::to_string(draft.number) + " is not new");
  }
  sender.last_id = id;
}

void MailboxModel::sent(Pid from, Pid to, const Draft& draft, const SendResult& result) {
  if (!check_sent(from, to, draft, result)) return;
  check_id(from, draft, result.id);
  ModelAgent& sender = agents_.at(from);
  if (draft.forget) {
    sender.asked.insert({result.id, to});
    if (draft.reply_to != 0) sender.asked.insert({draft.reply_to, to});
  }
  Letter letter = letter_of(from, to, draft);
  letter.id = result.id;
  count(from, to, true);
  show_to_parent(from, to, letter, true);
  post(to, std::move(letter));
}

bool MailboxModel::is_target(const Group& group, Pid from, Pid to) const {
  const ModelAgent& agent = agents_.at(to);
  if (to == from || agent.state == AgentLife::kDead) return false;
  switch (group.kind) {
    case Group::Kind::kAll:
      return route(from, to) == SendStatus::kOk;
    case Group::Kind::kChildren:
      return agent.parent == from;
    case Group::Kind::kSubtree:
      return is_above(from, to);
    case Group::Kind::kRole:
      return !agent.task;
  }
  return false;
}

// C-34: one id for all receivers. A parent that is no target gets one copy.
void MailboxModel::broadcast(Pid from, const Group& group, const Draft& draft,
                             const std::vector<Delivery>& deliveries) {
  std::vector<Pid> expected;
  for (const auto& [pid, agent] : agents_) {
    if (is_target(group, from, pid)) expected.push_back(pid);
  }
  std::vector<Pid> told;
  for (const Delivery& each : deliveries) told.push_back(each.pid);
  if (told != expected) {
    return complain(from, "broadcast #" + std::to_string(draft.number) + " names " +
                              std::to_string(told.size()) + " targets, and not the " +
                              std::to_string(expected.size()) + " of its group");
  }
  bool shown = std::find(told.begin(), told.end(), agents_.at(from).parent) != told.end();
  MessageId id = 0;
  for (const Delivery& each : deliveries) {
    if (!check_sent(from, each.pid, draft, each.result)) continue;
    if (id == 0) check_id(from, draft, id = each.result.id);
    if (each.result.id != id) complain(from, "a broadcast has two ids");
    Letter letter = letter_of(from, each.pid, draft);
    letter.id = id;
    count(from, each.pid, true);
    const bool sibling = relation(from, each.pid) == Relation::kSibling;
    if (sibling && !std::exchange(shown, true)) show_to_parent(from, each.pid, letter, true);
    post(each.pid, std::move(letter));
  }
}

void MailboxModel::may_have_sent(Pid from, Pid to, const Draft& draft) {
  if (route(from, to) != SendStatus::kOk) return;
  Letter letter = letter_of(from, to, draft);
  letter.sure = false;
  show_to_parent(from, to, letter, false);
  post(to, std::move(letter));
}

// HK-032, HK-033, C-37: the parent sees messages between its children, as long as they take no more
// than half of the lane.
void MailboxModel::show_to_parent(Pid from, Pid to, const Letter& letter, bool sure) {
  const Pid parent = agents_.at(from).parent;
  if (parent == kKing || parent != agents_.at(to).parent) return;
  if (letter.kind == LetterKind::kCancel) return;  // an order is no message between siblings
  Letter copy;
  copy.from = from;
  copy.number = letter.number;
  copy.kind = LetterKind::kCopy;
  copy.type = std::string(kSiblingTraffic) + letter.type;
  copy.reply_to = letter.reply_to;
  copy.rank = copy.rank_of_dead = kLow;
  count(from, parent, sure);  // shown or not, one of two counters has it: see check_links()
  const Room now = room(from, parent, false, false);
  copy.sure = sure && now.most < now.slots / 2;
  if (now.sure < now.slots / 2 || now.fog) post(parent, std::move(copy));
}

// C-08. An acknowledgement without room goes later, or never if its sender ends.
void MailboxModel::acknowledge(Pid by, const Letter& letter, AckStatus status,
                               const std::string& text, bool sure) {
  if (!letter.requires_ack || route(by, letter.from) != SendStatus::kOk) return;
  Letter ack;
  ack.from = by;
  ack.kind = LetterKind::kAck;
  ack.reply_to = letter.id;
  ack.ack = status;
  ack.text = text;
  const Room now = room(by, letter.from, false, false);
  ack.sure = sure && now.most < now.slots;
  ack.for_ever = !ack.sure;
  count(by, letter.from, ack.sure);
  post(letter.from, std::move(ack));
}

// ---- Ends of a message --------------------------------------------------------------------------

void MailboxModel::end_lease(Pid by, const Letter& letter, AckStatus status,
                             const std::string& text) {
  if (!letter.deferred) acknowledge(by, Letter(letter), status, text);
}

void MailboxModel::done(Pid pid, MessageId id) {
  ModelAgent& agent = agents_.at(pid);
  const Letter letter = *agent.find(id);
  agent.erase(id);
  agent.cancelled.erase(id);
  agent.maybe_cancelled.erase(id);
  end_lease(pid, letter, AckStatus::kAccepted, "did " + std::to_string(letter.number));
}

void MailboxModel::may_have_done(Pid pid, MessageId id) {
  const Letter letter = *agents_.at(pid).find(id);
  agents_.at(pid).find(id)->may_be_gone = true;
  if (!letter.deferred) {
    acknowledge(pid, letter, AckStatus::kAccepted, "did " + std::to_string(letter.number), false);
  }
}

void MailboxModel::bury(Pid pid, Letter& letter, const std::string& reason) {
  ModelAgent& agent = agents_.at(pid);
  letter.place = LetterPlace::kDead;
  letter.reason = reason;
  letter.deferred = false;
  agent.cancelled.erase(letter.id);
  agent.maybe_cancelled.erase(letter.id);
  // The sender may be this agent; its letters move then.
  if (reason != "rejected") acknowledge(pid, Letter(letter), AckStatus::kRejected, reason);
}

void MailboxModel::requeued(Pid pid, MessageId id, std::uint32_t attempts) {
  ModelAgent& agent = agents_.at(pid);
  Letter& letter = *agent.find(id);
  const bool maybe_cancelled = agent.maybe_cancelled.contains(id);
  letter.deferred = false;
  if (agent.cancelled.contains(id)) return bury(pid, letter, "cancelled");
  (maybe_cancelled ? letter.more_attempts : letter.attempts) += attempts;
  letter.place = LetterPlace::kQueued;
  letter.fog |= maybe_cancelled;
  // The sender may be this agent; its letters move then.
  if (maybe_cancelled) acknowledge(pid, Letter(letter), AckStatus::kRejected, "cancelled", false);
}

void MailboxModel::rejected(Pid pid, MessageId id, const std::string& reply) {
  ModelAgent& agent = agents_.at(pid);
  const Letter before = *agent.find(id);
  bury(pid, *agent.find(id), "rejected");
  end_lease(pid, before, AckStatus::kRejected, reply);
}

void MailboxModel::deferred(Pid pid, MessageId id) {
  Letter& letter = *agents_.at(pid).find(id);
  const bool before = std::exchange(letter.deferred, true);
  if (!before) acknowledge(pid, Letter(letter), AckStatus::kQueued, "");
}

// C-02, C-08.
void MailboxModel::escalated(Pid pid, MessageId id, const SendResult& result) {
  ModelAgent& agent = agents_.at(pid);
  const Letter letter = *agent.find(id);
  if (const Pid above = runs_above(pid); above != kKing) {
    Draft draft;
    draft.number = letter.number;
    draft.rank = kHigh;
    draft.type = kEscalation;
    draft.reply_to = letter.reply_to;
    sent(pid, above, draft, result);
  } else if (!result || result.id != 0) {
    complain(pid, letter, "the coordinator takes every escalation");
  }
  if (!result) return;
  end_lease(pid, letter, AckStatus::kEscalate, "");
  agent.erase(id);
  agent.cancelled.erase(id);
  agent.maybe_cancelled.erase(id);
}

void MailboxModel::revived(Pid pid, MessageId id) {
  Letter& letter = *agents_.at(pid).find(id);
  letter.place = LetterPlace::kQueued;
  letter.attempts = 0;
  letter.revived = true;
  letter.reason.clear();
}

void MailboxModel::purged(Pid pid) {
  std::vector<Letter>& letters = agents_.at(pid).letters;
  std::erase_if(letters, [](const Letter& each) { return each.place == LetterPlace::kDead; });
  // An interrupted call may have let them die.
  for (Letter& each : letters) each.may_be_gone |= each.fog;
}

void MailboxModel::got_ack(Pid pid, MessageId id, const std::optional<Acknowledgement>& ack) {
  ModelAgent& agent = agents_.at(pid);
  const auto found =
      std::find_if(agent.letters.begin(), agent.letters.end(), [&](const auto& each) {
        return each.kind == LetterKind::kAck && each.place == LetterPlace::kStashed &&
               each.reply_to == id;
      });
  if (found == agent.letters.end()) return complain(pid, "no acknowledgement should be asked for");
  if (!ack) return complain(pid, *found, "is there and was not found");
  if (ack->id != id || ack->status != found->ack || ack->reply != found->text) {
    complain(pid, *found,
             "says " + std::string(to_string(ack->status)) + " \"" + ack->reply + "\", not " +
                 std::string(to_string(found->ack)) + " \"" + found->text + "\"");
  }
  agent.letters.erase(found);
}

// A look, and the next message.
void MailboxModel::may_have_received(Pid pid) {
  ModelAgent& agent = agents_.at(pid);
  for (const Letter& letter : std::vector<Letter>(agent.letters)) {
    if (letter.place == LetterPlace::kDead || letter.place == LetterPlace::kLeased) continue;
    for (const char* reason : {"exhausted", "cancelled", "unclaimed"}) {
      acknowledge(pid, letter, AckStatus::kRejected, reason, false);
    }
  }
  for (Letter& letter : agent.letters) {
    if (letter.kind == LetterKind::kCancel) may_have_obeyed(agent, letter);
    if (letter.place == LetterPlace::kDead || letter.place == LetterPlace::kLeased) continue;
    letter.fog = true;
    ++letter.more_attempts;
    if (letter.kind == LetterKind::kCopy) letter.may_be_gone = true;
  }
}

// This life or the next obeys an order, which the next finds in the lane or in the table; but not
// always if the order has to wait there for its message. A leased message may have been marked:
// then it ends with this life, and is not tried again.
void MailboxModel::may_have_obeyed(ModelAgent& agent, Letter& order) {
  if (order.from != sender_of(order.reply_to)) return;
  const Letter* target = agent.find(order.reply_to);
  if (target == nullptr || target->place == LetterPlace::kLane) order.sure = false;
  if (target != nullptr && target->place == LetterPlace::kLeased) {
    agent.maybe_cancelled.insert(order.reply_to);
  }
}

void MailboxModel::expect_empty() {
  for (auto& [pid, agent] : agents_) {
    for (const Letter& letter : agent.letters) {
      if (letter.sure) complain(pid, letter, "is left");
    }
  }
}

}  // namespace beeline::test
