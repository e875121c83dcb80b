#pragma once
// The requests that wait for an answer, the open questions, and the newest kRemembered ids that
// this agent has asked under.

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include <beeline/types.h>

#include "shm/index.h"
#include "shm/slot.h"
#include "src/receive/recent.h"

namespace beeline::receive {

// A request that waits for its answer; lies with the caller while it waits.
struct PendingReply {
  std::uint64_t request_id = 0;
  std::uint64_t alias = 0;  // another id that the answer may name, 0 = none
  std::uint32_t from = 0;   // the only agent whose answer counts
  bool for_ack = false;     // waits for the acknowledgement, not for an answer
  // The call also wants the acknowledgement that says that no answer comes.
  bool wants_word = false;
  bool is_blocking = false;   // its caller does nothing but wait
  bool is_task = false;       // the answer is the result of a task; words about it may come before
  std::uint32_t reports = 0;  // so many of these lie in the stash, unless it gave some up
  // Set when the answer has come, or with for_ack the acknowledgement.
  shm::EntryIndex entry = shm::kNoEntry;
  shm::EntryIndex word = shm::kNoEntry;  // set when the acknowledgement has come instead

  void set(const shm::MessageHeader& header, shm::EntryIndex at) {
    (shm::is_ack(header) && !for_ack ? word : entry) = at;
  }
};

class Answers {
 public:
  void expect(PendingReply& pending) { pending_.push_back(&pending); }
  void stop_expecting(PendingReply& pending) { std::erase(pending_, &pending); }

  [[nodiscard]] const std::vector<PendingReply*>& pending() const { return pending_; }
  [[nodiscard]] bool nobody_waits() const { return pending_.empty(); }
  // Returns the request that this message of `from` ends; null if no request waits. An
  // acknowledgement ends one by saying that no answer comes.
  [[nodiscard]] PendingReply* waiting_for(std::uint32_t from,
                                          const shm::MessageHeader& header) const {
    PendingReply* const waiting = waiting_for(from, header.reply_to, is_ack(header));
    return waiting == nullptr && is_ack(header) ? left_by(from, header.reply_to) : waiting;
  }
  [[nodiscard]] PendingReply* waiting_for(std::uint32_t from, std::uint64_t reply_to,
                                          bool is_ack) const;

  // Returns the request that an acknowledgement of `from` ends without an answer; null if there is
  // none.
  [[nodiscard]] PendingReply* left_by(std::uint32_t from, std::uint64_t reply_to) const;

  // ---- Answers that nobody waits for ----
  // Notes a question to `from`. Its first answer counts whenever it comes, under either id (alias
  // 0: there is no other one). False: kMostOpenQuestions are open.
  [[nodiscard]] bool open(std::uint64_t id, std::uint64_t alias, std::uint32_t from);
  // Removes a question that was not sent.
  void withdraw(std::uint64_t id, std::uint32_t from);
  // Removes the open questions to this agent. Those that remember() noted stay known.
  void forget(std::uint32_t from);
  // Marks the question as answered. `id`: either of its ids. False: no such question is open.
  bool close(std::uint64_t id, std::uint32_t from);
  // Notes that `from` was asked under this id, and that an answer from now on is late: it is never
  // an ordinary message. Only the newest kRemembered ids stay known.
  void remember(std::uint64_t id, std::uint32_t from);
  // The same of a request, by both ids.
  void remember_asked(const PendingReply& pending) {
    remember(pending.request_id, pending.from);
    remember(pending.alias, pending.from);
    if (pending.is_task) known_tasks_.add({pending.request_id, pending.from});
  }
  // True if this agent asked for a task: nobody fetches a result that comes late.
  [[nodiscard]] bool was_task(std::uint64_t id, std::uint32_t from) const {
    return known_tasks_.contains({id, from});
  }
  // True if this agent has asked `from` under this id, as far as it remembers.
  [[nodiscard]] bool was_asked(std::uint64_t id, std::uint32_t from) const;

 private:
  // An id as one agent may name it: several may be asked under one id.
  struct Name {
    std::uint64_t id = 0;
    std::uint32_t from = 0;
    friend bool operator==(const Name&, const Name&) = default;
  };
  struct Hash {
    std::size_t operator()(const Name& name) const {
      constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
      return ((name.id ^ (std::uint64_t{name.from} << 40)) * kSpread) >> 32;
    }
  };
  static constexpr std::uint16_t kRemembered = 1024;
  using Open = std::unordered_map<Name, std::uint64_t, Hash>;
  [[nodiscard]] Open::iterator find_open(const Name& name);
  Open::iterator erase(Open::iterator question);

  std::vector<PendingReply*> pending_;
  Open open_;                                               // alias by id
  std::unordered_multimap<Name, std::uint64_t, Hash> ids_;  // id by alias
  Recent<Name, Hash, kRemembered> known_;
  Recent<Name, Hash, kRemembered> known_tasks_;
};

}  // namespace beeline::receive
