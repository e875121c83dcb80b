#pragma once
// The fate of every message, in memory that survives all processes that send and receive.
//
// sender    attempt (before send) ... accepted (after send said ok), or refused
// receiver  received (when it was handed out) ... end begun (before done, and before a dead
// letter is let go) ... finished (after done, or when the letter has gone)
//
// A sender that is killed between its send and its note leaves `attempt`: such a message may arrive
// or not. A receiver that is killed after `end begun` leaves that: such a message may come again or
// not; if it does, its end begins once more. A kill leaves at most one such message: more would
// have
// been lost.

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include <beeline/types.h>

#include "tests/support/shared_memory.h"

namespace beeline::test {

inline constexpr std::uint32_t kMaxPlayers = 32;
inline constexpr std::uint64_t kMaxSequences = 1ULL << 20;  // of one player for one other

enum class Fault : std::uint32_t {
  kNone = 0,
  kDamaged,      // the payload does not prove itself
  kMisrouted,    // for another receiver
  kNeverSent,    // nobody has attempted it, or it was refused
  kTwice,        // handed out again without the mark of a redelivery
  kAfterDone,    // handed out again after it was finished
  kWrongSender,  // from() differs from the sender in the payload
  kNoLetter,     // a dead letter that was not rejected, or of a message that was never handed out
  kOvertaken,    // a later message of the same sender and rank was handed out before
};
[[nodiscard]] const char* to_string(Fault fault);

struct FaultRecord {
  Fault fault;
  std::uint32_t sender;
  std::uint32_t receiver;
  std::uint32_t attempts;
  std::uint64_t sequence;
  std::uint64_t id;
  std::uint64_t word;  // the ledger's word before; for kOvertaken 1 + the number of the later
                       // message
};

struct MissingMessage {
  std::uint32_t sender;
  std::uint32_t receiver;
  std::uint64_t sequence;
  std::uint64_t word;
};

// The last entries of each player in the ledger, with their times. A killed player leaves at worst
// its newest entry half written, and that entry does not count yet.
class Chronicle {
 public:
  enum class Step : std::uint32_t { kAttempted = 1, kAccepted, kRefused, kReceived, kFinished };
  struct Entry {
    std::int64_t ns;
    std::uint64_t sequence;
    std::uint32_t sender;
    std::uint32_t receiver;
    std::uint32_t process;
    Step step;
  };
  void note(std::uint32_t player, Step step, std::uint32_t sender, std::uint32_t receiver,
            std::uint64_t sequence);
  // All entries of both players about the message that are still here, by time.
  [[nodiscard]] std::vector<Entry> about(std::uint32_t sender, std::uint32_t receiver,
                                         std::uint64_t sequence) const;

 private:
  static constexpr std::size_t kEntries = 1 << 15;
  std::atomic<std::uint64_t> next_[kMaxPlayers];
  Entry entries_[kMaxPlayers][kEntries];
};

// Zero bytes are an empty ledger.
class Ledger {
 public:
  struct Receipt {
    std::uint32_t sender;
    std::uint32_t receiver;
    std::uint64_t sequence;
    MessageId id;
    std::uint32_t attempts;
  };

  // The number of the next message, or kMaxSequences if there are no more.
  std::uint64_t attempt(std::uint32_t sender, std::uint32_t receiver);
  void accept(std::uint32_t sender, std::uint32_t receiver, std::uint64_t sequence, MessageId id);
  void refuse(std::uint32_t sender, std::uint32_t receiver, std::uint64_t sequence);
  void receive(const Receipt& receipt);
  void begin_end(const Receipt& receipt);
  void finish(const Receipt& receipt);
  void complain(Fault fault, const Receipt& receipt, std::uint64_t word);

  [[nodiscard]] std::uint64_t attempted(std::uint32_t sender, std::uint32_t receiver) const {
    return next_[sender][receiver].load();
  }
  [[nodiscard]] std::uint64_t accepted() const;
  [[nodiscard]] bool was_handed_out(const Receipt& receipt) const;
  [[nodiscard]] std::uint64_t received_again() const { return again_.load(); }
  // Accepted messages that have not ended: each waits or is held, or else is lost.
  [[nodiscard]] std::vector<MissingMessage> missing(std::size_t limit) const;
  // Accepted messages for this player that it has begun to end and not ended.
  [[nodiscard]] std::uint64_t half_ended(std::uint32_t receiver) const;
  [[nodiscard]] std::vector<FaultRecord> faults() const;
  [[nodiscard]] const Event& progress() const { return progress_; }
  // The fate of a message, for people, a line for each step.
  [[nodiscard]] std::string story(std::uint32_t sender, std::uint32_t receiver,
                                  std::uint64_t sequence) const;

 private:
  static constexpr std::size_t kKeptFaults = 64;

  Event progress_;  // messages that have begun to end
  Chronicle chronicle_;
  std::atomic<std::uint32_t> fault_count_;
  std::atomic<std::uint64_t> again_;
  std::array<FaultRecord, kKeptFaults> faults_;
  std::atomic<std::uint64_t> next_[kMaxPlayers][kMaxPlayers];
  std::atomic<std::uint64_t> words_[kMaxPlayers][kMaxPlayers][kMaxSequences];
};

// The words of a ledger for people.
[[nodiscard]] std::string describe(std::uint64_t word);
[[nodiscard]] std::string describe(const MissingMessage& missing);
[[nodiscard]] std::string describe(const FaultRecord& fault);

}  // namespace beeline::test
