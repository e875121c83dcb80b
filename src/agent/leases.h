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
  };
  Leases(const Needs& needs, const Retries& retries);

  // The message that was handed out last and is not finished; null if there is none.
  [[nodiscard]] const shm::Entry* handled() const {
    return handled_.empty() || life_.is_forked() ? nullptr : &receiver_.entry(handled_.back());
  }
  // It is being handled from now on: messages that are sent inherit from it.
  [[nodiscard]] Message hand_out(std::uint32_t entry) {
    handled_.push_back(entry);
    sleeper_.show_activity();
    return Message(&core_, entry);
  }
  // The user has asked for it, so it is not handled: messages that are sent go on inheriting from
  // the handled one.
  [[nodiscard]] Message hand_over(std::uint32_t entry);
  // A further message of a batch. The first one was handed out.
  [[nodiscard]] Message hand_along(std::uint32_t entry) { return Message(&core_, entry); }
  // These were handed out in place of the last one, and are handled in their order.
  void take_batch(std::span<const Message> batch);

  // ---- How a lease ends ----
  // `how`: told to a sender that has asked.
  void done(std::uint32_t entry, std::string_view reply, AckStatus how = AckStatus::kAccepted);
  void requeue(std::uint32_t entry, shm::Cost cost = shm::Cost::kAttempt);
  void reject(std::uint32_t entry, std::string_view reply);
  void let_go(std::uint32_t entry);

  // ---- How it goes on ----
  [[nodiscard]] bool is_cancelled(std::uint32_t entry);
  void defer(std::uint32_t entry, std::string_view reply = {});
  [[nodiscard]] bool is_deferred(std::uint32_t entry) const;
  // The answer of a deferred message was sent, or cannot be.
  void forget_deferred(std::uint32_t entry) { std::erase(deferred_, entry); }
  [[nodiscard]] bool is_leased(std::uint32_t entry, MessageId id) const;
  // Its handler has handed it on: nobody handles it any more.
  void lay_down(std::uint32_t entry) { std::erase(handled_, entry); }
  // The question was answered by a message of its own.
  void note_answered(std::uint32_t entry) { answered_.push_back(entry); }
  // A handler has left it as queued.
  void hold(Message message) { held_.push_back(std::move(message)); }
  [[nodiscard]] Result<Message> held(MessageId id);

  // ---- Retries ----
  void release_retries();
  // All of them, of an agent that leaves.
  void drop_retries();
  // When the first pause is over; kNever: there is none.
  [[nodiscard]] std::int64_t next_retry_ns() const { return retries_.next_ns(); }

  // ---- Parts of a message ----
  [[nodiscard]] static std::uint32_t entry_of(const Message& message) { return message.entry_; }
  // From here on the lease is the caller's.
  [[nodiscard]] static std::uint32_t release(Message& message) { return message.release(); }
  // The text stays until the next one is asked for.
  [[nodiscard]] std::string_view type_of(std::uint32_t entry);
  [[nodiscard]] std::string_view channel_of(std::uint32_t entry);

 private:
  void done_told(std::uint32_t entry, std::string_view reply, AckStatus how);
  [[nodiscard]] bool put_off(std::uint32_t entry);
  [[nodiscard]] bool end_lease(std::uint32_t entry);
  [[gnu::noinline]] bool is_owed_word(std::uint32_t entry, bool told);

  AgentCore& core_;
  OwnLife& life_;
  receive::Receiver& receiver_;
  Sender& sender_;
  Sleeper& sleeper_;
  Debts& debts_;
  Intake& intake_;
  std::vector<std::uint32_t> handled_;   // messages that are sent inherit from the last
  std::vector<std::uint32_t> deferred_;  // their senders know that it takes longer
  std::vector<std::uint32_t> answered_;  // questions with an answer on its way
  Retries retries_;                      // their attempts have failed
  std::vector<Message> held_;            // deferred, and left by their handlers
  receive::TypeText text_;               // type_of and channel_of return views of these
  shm::StringCopy channel_text_;
};

}  // namespace beeline
