#pragma once
// The messages that this agent has handed out, and how the lease of each ends.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <beeline/agent.h>

#include "src/agent/own_life.h"
#include "src/agent/retries.h"
#include "src/agent/sleeper.h"
#include "src/receive/receiver.h"

namespace beeline {

class AgentCore;
class Debts;
class Intake;
class Sender;
class Turn;

class Leases {
 public:
  struct Needs {
    AgentCore& core;  // for messages, which find their way back by it
    OwnLife& life;
    receive::Receiver& receiver;
    Sender& sender;
    Sleeper& sleeper;
    Debts& debts;
    Intake& intake;
    Turn& turn;
  };
  Leases(const Needs& needs, const Retries& retries);

  // The message that was handed out last and is not finished; null if there is none.
  [[nodiscard]] const shm::Entry* handled() const {
    return handled_.empty() || life_.is_forked() ? nullptr : &receiver_.entry(handled_.back());
  }
  // The message that one with these options inherits from; null if there is none.
  [[nodiscard]] const shm::Entry* origin(const SendOptions& options) const;
  // The options name no message, or one that this agent holds.
  [[nodiscard]] bool may_send_about(const SendOptions& options) const {
    return options.about == nullptr || holds(*options.about);
  }
  // It is being handled from now on: messages that are sent inherit from it.
  [[nodiscard, gnu::always_inline]] Message hand_out(shm::EntryIndex entry) {
    if (records_) [[unlikely]]
      return hand_out_aside(entry);
    handled_.push_back(entry);
    sleeper_.show_activity();
    return Message(&core_, entry.value());
  }
  // The same out of line, for answers, tasks and a history: a further caller of push_back() would
  // take it out of hand_out().
  [[nodiscard]] Message hand_out_aside(shm::EntryIndex entry);
  // The user has asked for it, so it is not handled: messages that are sent go on inheriting from
  // the handled one.
  [[nodiscard]] Message hand_over(shm::EntryIndex entry);
  // A further message of a batch. The first one was handed out.
  [[nodiscard]] Message hand_along(shm::EntryIndex entry) {
    if (records_) [[unlikely]]
      record_taken(entry);
    return Message(&core_, entry.value());
  }
  // These were handed out in place of the last one, and are handled in their order.
  void take_batch(std::span<const Message> batch);

  // ---- How a lease ends ----
  // `how`: told to a sender that has asked.
  void done(shm::EntryIndex entry, std::string_view reply, AckStatus how = AckStatus::kAccepted);
  void requeue(shm::EntryIndex entry, shm::Cost cost = shm::Cost::kAttempt);
  void reject(shm::EntryIndex entry, std::string_view reply);
  void let_go(shm::EntryIndex entry);

  // ---- How it goes on ----
  [[nodiscard]] bool is_cancelled(shm::EntryIndex entry);
  void defer(shm::EntryIndex entry, std::string_view reply = {});
  [[nodiscard]] bool is_deferred(shm::EntryIndex entry) const;
  // The answer of a deferred message was sent, or cannot be.
  void forget_deferred(shm::EntryIndex entry) { std::erase(deferred_, entry); }
  [[nodiscard]] bool is_leased(shm::EntryIndex entry, MessageId id) const;
  // Its handler has handed it on: nobody handles it any more.
  void lay_down(shm::EntryIndex entry) { std::erase(handled_, entry); }
  // The question was answered by a message of its own.
  void note_answered(shm::EntryIndex entry) { answered_.push_back(entry); }
  // A handler has left it as queued.
  void hold(Message message) { held_.push_back(std::move(message)); }
  [[nodiscard]] Result<Message> held(MessageId id);

  // Whether each lease is recorded.
  void record(bool on) { records_ = on; }

  // ---- Retries ----
  void release_retries();
  // All of them, of an agent that leaves.
  void drop_retries();
  // When the first pause is over; kNever: there is none.
  [[nodiscard]] std::int64_t next_retry_ns() const { return retries_.next_ns(); }

  // ---- Parts of a message ----
  [[nodiscard]] static shm::EntryIndex entry_of(const Message& message) {
    return shm::EntryIndex(message.entry_);
  }
  // From here on the lease is the caller's.
  [[nodiscard]] static shm::EntryIndex release(Message& message) {
    return shm::EntryIndex(message.release());
  }
  // The text stays until the next one is asked for.
  [[nodiscard]] std::string_view type_of(shm::EntryIndex entry);
  [[nodiscard]] std::string_view channel_of(shm::EntryIndex entry);

 private:
  [[nodiscard]] bool holds(const Message& message) const {
    return message.core_ == &core_ && !life_.is_forked();
  }
  [[gnu::cold, gnu::noinline]] void record_taken(shm::EntryIndex entry);
  [[gnu::cold, gnu::noinline]] void record_done(shm::EntryIndex entry, AckStatus how);
  void done_told(shm::EntryIndex entry, std::string_view reply, AckStatus how);
  [[nodiscard]] bool put_off(shm::EntryIndex entry);
  [[nodiscard]] bool end_lease(shm::EntryIndex entry);
  [[gnu::noinline]] bool is_owed_word(shm::EntryIndex entry, bool told);

  AgentCore& core_;
  OwnLife& life_;
  receive::Receiver& receiver_;
  Sender& sender_;
  Sleeper& sleeper_;
  Debts& debts_;
  Intake& intake_;
  Turn& turn_;
  bool records_ = false;
  std::vector<shm::EntryIndex> handled_;   // messages that are sent inherit from the last
  std::vector<shm::EntryIndex> deferred_;  // their senders know that it takes longer
  std::vector<shm::EntryIndex> answered_;  // questions with an answer on its way
  Retries retries_;                        // their attempts have failed
  std::vector<Message> held_;              // deferred, and left by their handlers
  receive::TypeText text_;                 // type_of and channel_of return views of these
  shm::StringCopy channel_text_;
};

}  // namespace beeline
