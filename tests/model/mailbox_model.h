#pragma once
// The rules for a hive's mailboxes in plain C++: which agent may send to which, the contents of
// each
// inbox, and the messages that may come next. The model is told of each call of an agent and of its
// result, and complains if the rules do not allow it. It knows nothing of lanes in shared memory,
// of
// slots, or of how anything is done.
//
// A call that a kill interrupted has two possible outcomes. The model keeps the doubt until a look
// into the inbox settles it: Letter::sure and Letter::fog.

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <beeline/broadcast.h>
#include <beeline/types.h>

namespace beeline::test {

inline constexpr Pid kKing = 1;                         // the coordinator, above all agents
inline constexpr std::string_view kWorkers = "worker";  // the role of all agents that are no tasks

enum class LetterKind : std::uint8_t { kData, kCopy, kAck, kCancel };
enum class LetterPlace : std::uint8_t { kLane, kQueued, kStashed, kLeased, kDead };
enum class AgentLife : std::uint8_t { kRunning, kAway, kDead };

// A message on its way to an inbox, or in it. Done messages are not kept.
struct Letter {
  MessageId id = 0;  // 0: unknown, as for copies until they are seen
  Pid from = 0;
  std::uint32_t number = 0;  // at the start of its payload; 0 for acknowledgements
  LetterKind kind = LetterKind::kData;
  LetterPlace place = LetterPlace::kLane;
  std::string type{};
  MessageId reply_to = 0;
  std::int32_t rank = kNormal;          // as it is stored
  std::int32_t rank_of_dead = kNormal;  // the same, if its sender dies before it is seen
  bool control = false;
  bool urgent = false;  // it goes through the urgent lane
  bool requires_ack = false;
  AckStatus ack = AckStatus::kAccepted;  // the status of an acknowledgement
  std::string text{};                    // the same
  std::uint64_t life = 0;                // of its sender
  std::uint64_t round = 0;               // the look that saw it first
  std::uint32_t attempts = 0;
  bool revived = false;
  bool deferred = false;
  std::string reason{};  // why it is dead

  bool sure = true;                 // false: it may not exist
  bool fog = false;                 // an interrupted call may have moved it
  std::uint32_t more_attempts = 0;  // attempts that it may have had beyond these
  bool may_be_gone = false;         // or an interrupted call may have finished it
  bool for_ever = false;            // for an unsure one: it may come later
};

struct ModelAgent {
  std::string name{};
  Pid pid = 0;
  Pid parent = 0;
  bool task = false;
  bool temporary = false;
  std::uint32_t capacity = 0;
  std::uint32_t max_attempts = 0;
  std::uint32_t normal_slots = 0;
  std::uint32_t urgent_slots = 0;

  AgentLife state = AgentLife::kRunning;
  std::uint64_t life = 0;
  MessageId last_id = 0;
  std::vector<Letter> letters{};                // in the order in which each sender sent them
  std::set<std::pair<MessageId, Pid>> asked{};  // answers to these go to the stash
  std::set<MessageId> cancelled{};              // cancelled while they were not queued
  std::set<MessageId> maybe_cancelled{};
  std::vector<Letter> untold{};  // cancelled messages that its last life held and reported nothing
                                 // of
  std::map<Pid, std::uint64_t> sent{};        // in this life, copies among them
  std::map<Pid, std::uint64_t> maybe_sent{};  // beyond those
  std::uint64_t copies_gone = 0;              // that left its inbox unfinished

  [[nodiscard]] Letter* find(MessageId id);
  void erase(MessageId id);
  [[nodiscard]] std::vector<MessageId> ids(LetterPlace place) const;
  [[nodiscard]] bool may_be_cancelled(const Letter& letter) const {
    return cancelled.contains(letter.id) || maybe_cancelled.contains(letter.id);
  }
  // An interrupted receive may have found that it had failed too often.
  [[nodiscard]] bool may_be_exhausted(const Letter& letter) const {
    return letter.fog && letter.place == LetterPlace::kQueued &&
           letter.attempts + letter.more_attempts > max_attempts;
  }
  // A table keeps a quarter of its places for dead letters; if there are more, the oldest go.
  [[nodiscard]] std::uint64_t most_letters() const { return std::min(64U, capacity / 4); }
};

// A message as its receiver got it.
struct Taken {
  MessageId id = 0;
  Pid from = 0;
  Pid to = 0;
  MessageId reply_to = 0;
  MessageId cause = 0;
  std::uint32_t number = 0;
  std::int32_t rank = 0;
  std::uint32_t attempts = 0;
  Relation relation = Relation::kOther;
  bool redelivered = false;
  bool is_copy = false;
  bool is_control = false;
  bool requires_ack = false;
};

// The contents of an inbox as its agent lists them.
struct Listing {
  std::vector<InboxItem> items{};
  InboxCounters counters{};
  std::vector<LinkCounters> links{};
};

// A message that an agent wants to send.
struct Draft {
  std::uint32_t number = 0;
  std::int32_t rank = kNormal;
  std::string type{};
  MessageId reply_to = 0;
  bool requires_ack = false;
  bool control = false;
  bool cancel = false;
  bool forget = false;  // fire_and_forget()
};

class MailboxModel {
 public:
  // ---- The tree ----
  ModelAgent& attach(ModelAgent agent);
  [[nodiscard]] ModelAgent& agent(Pid pid) { return agents_.at(pid); }
  // The agent that takes its escalations: the nearest one above with a process, for a task only its
  // parent; in the end the coordinator.
  [[nodiscard]] Pid runs_above(Pid pid) const {
    const bool task = agents_.at(pid).task;
    Pid above = agents_.at(pid).parent;
    while (above != kKing && agents_.at(above).state != AgentLife::kRunning) {
      above = task ? kKing : agents_.at(above).parent;
    }
    return above;
  }
  [[nodiscard]] const std::map<Pid, ModelAgent>& agents() const { return agents_; }
  [[nodiscard]] SendStatus route(Pid from, Pid to) const;
  // The process has ended; `left`: after a detach.
  void end(Pid pid, bool left);

  // ---- Calls ----
  void sent(Pid from, Pid to, const Draft& draft, const SendResult& result);
  void broadcast(Pid from, const Group& group, const Draft& draft,
                 const std::vector<Delivery>& deliveries);
  // The same, interrupted: the outcome is unknown.
  void may_have_sent(Pid from, Pid to, const Draft& draft);
  void looked(Pid pid, const Listing& listing);
  // After a look.
  void received(Pid pid, const Listing& listing, const std::optional<Taken>& taken);
  void may_have_received(Pid pid);
  void done(Pid pid, MessageId id);
  void may_have_done(Pid pid, MessageId id);
  void requeued(Pid pid, MessageId id, std::uint32_t attempts);
  void rejected(Pid pid, MessageId id, const std::string& reply);
  void deferred(Pid pid, MessageId id);
  void escalated(Pid pid, MessageId id, const SendResult& result);
  void drained_results(Pid pid, const std::vector<Taken>& results);
  void got_ack(Pid pid, MessageId id, const std::optional<Acknowledgement>& ack);
  void revived(Pid pid, MessageId id);
  void purged(Pid pid);

  // No message that was surely accepted is left anywhere.
  void expect_empty();
  // How many letters of the dead the coordinator holds: at least and at most.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> letters_of_the_dead() const {
    return {dead_sure_, dead_sure_ + dead_maybe_};
  }
  // The letters that the coordinator surely got, except those that made room for others, with their
  // receivers.
  [[nodiscard]] const std::vector<std::pair<Pid, Letter>>& letters_left() const {
    return letters_left_;
  }

  [[nodiscard]] std::vector<std::string> take_complaints();

 private:
  struct Room {
    std::uint32_t sure = 0;   // messages that lie in the lane
    std::uint32_t most = 0;   // messages that may lie in the lane
    std::uint32_t slots = 0;  // slots for such a message
    bool fog = false;
  };
  void complain(Pid pid, const std::string& text);
  void complain(Pid pid, const Letter& letter, const std::string& text);

  [[nodiscard]] Relation relation(Pid from, Pid to) const;
  [[nodiscard]] bool is_above(Pid upper, Pid lower) const;
  [[nodiscard]] static std::int32_t stored_rank(const Draft& draft, Relation relation);
  [[nodiscard]] Room room(Pid from, Pid to, bool urgent, bool control) const;
  [[nodiscard]] Letter letter_of(Pid from, Pid to, const Draft& draft) const;
  [[nodiscard]] bool is_target(const Group& group, Pid from, Pid to) const;
  // False if it is not there: nothing was sent, or the result is wrong.
  bool check_sent(Pid from, Pid to, const Draft& draft, const SendResult& result);
  void check_id(Pid from, const Draft& draft, MessageId id);
  void post(Pid to, Letter letter);
  void count(Pid from, Pid to, bool sure);
  void show_to_parent(Pid from, Pid to, const Letter& letter, bool sure);
  void acknowledge(Pid by, const Letter& letter, AckStatus status, const std::string& text,
                   bool sure = true);
  void end_lease(Pid by, const Letter& letter, AckStatus status, const std::string& text);
  void bury(Pid pid, Letter& letter, const std::string& reason);
  static void leave_orders(ModelAgent& agent);
  static void may_have_obeyed(ModelAgent& agent, Letter& order);

  // mailbox_model_look.cc
  struct Look;
  void pair_up(Look& look);
  void obey_orders(Look& look);
  void cancel(Look& look, const Letter& order);
  void drain(Look& look);
  void arrive(Look& look, Letter& letter);
  void pass(Look& look, Letter& letter, bool full);
  [[nodiscard]] static bool may_lose_aside(const Look& look, const Letter& letter);
  void stay(Look& look, Letter& letter, bool behind);
  void compare_all(Look& look);
  void compare(Look& look, Letter& letter, const InboxItem& item);
  void adopt(Look& look, Letter& letter, const InboxItem& item);
  void miss(Look& look, Letter& letter);
  void check_order(Look& look);
  void check_counters(Look& look);
  void check_links(Look& look);

  // mailbox_model_take.cc
  [[nodiscard]] static bool comes_late(ModelAgent& agent, const Taken& taken);
  [[nodiscard]] static bool goes_before(const Taken& taken, const Letter& letter);
  void take_late(Pid pid, const Taken& taken);
  void compare_taken(Pid pid, const Letter& letter, const Taken& taken);

  std::map<Pid, ModelAgent> agents_;
  std::vector<std::string> complaints_;
  std::uint64_t round_ = 0;
  std::uint64_t dead_sure_ = 0;
  std::uint64_t dead_maybe_ = 0;
  std::vector<std::pair<Pid, Letter>> letters_left_;
};

}  // namespace beeline::test
