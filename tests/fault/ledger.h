#pragma once
// What became of every message, written down outside of the processes that send and receive them:
// it lies in memory that survives all of them.
//
//   sender    attempt (before send) ... accepted (after send said ok), or refused
//   receiver  received (when it was handed out) ... end begun (before done, and before a dead
//             letter is let go) ... finished (after done, or when the letter has gone)
//
// A sender that is killed between its send and its note leaves `attempt`: such a message may arrive
// or not. A receiver that is killed after `end begun` leaves that: such a message may come again or
// not; if it does, its end is to begin once more. A kill leaves one such message at most: more have
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
  kMisrouted,    // another receiver's
  kNeverSent,    // nobody has attempted it, or it was refused
  kTwice,        // handed out again and not said to be redelivered
  kAfterDone,    // handed out again after it was finished
  kWrongSender,  // from() is not who wrote the payload
  kNoLetter,     // a dead letter that was not rejected, or of a message that nobody was handed
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
  std::uint64_t word;  // what the ledger knew before; of kOvertaken 1 + the number of the later one
};

struct MissingMessage {
  std::uint32_t sender;
  std::uint32_t receiver;
  std::uint64_t sequence;
  std::uint64_t word;
};

// The last that each player wrote into the ledger, and when. A player that is killed leaves its
// newest entry half written at worst, and nobody has counted that yet.
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
  // What both players have written about the message and still lies here, by time.
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

  // The number of the next message, or kMaxSequences when there are no more.
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
  // Accepted, and has not come to its end: it waits, or somebody holds it. Lost, if nobody does.
  [[nodiscard]] std::vector<MissingMessage> missing(std::size_t limit) const;
  // Accepted for this player, which has begun to end them and has not come to it.
  [[nodiscard]] std::uint64_t half_ended(std::uint32_t receiver) const;
  [[nodiscard]] std::vector<FaultRecord> faults() const;
  [[nodiscard]] const Event& progress() const { return progress_; }
  // What the players have done with a message, for people, a line each.
  [[nodiscard]] std::string story(std::uint32_t sender, std::uint32_t receiver,
                                  std::uint64_t sequence) const;

 private:
  static constexpr std::size_t kKeptFaults = 64;

  Event progress_;  // messages whose end has begun
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
