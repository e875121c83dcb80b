#pragma once
// A world with a ledger: scenarios arrange it, and their operations work on it. An operation calls
// only the engine; the code that keeps the ledger stands outside of it.

#include <optional>

#include "tests/killpoints/annals.h"
#include "tests/killpoints/book.h"
#include "tests/killpoints/ledger.h"
#include "tests/killpoints/life.h"

namespace beeline::killpoints {

// A message to send.
struct Plan {
  std::uint32_t length = 40;
  std::int32_t rank = shm::kRankNormal;
  std::uint32_t ttl_ms = 0;
  std::uint16_t flags = 0;
  std::uint64_t reply_to = 0;
  std::string_view type{};
  bool extended = false;
  shm::MessageKind kind = shm::MessageKind::kOrdinary;  // with `extended`, and a time to live
};

// A plan with its id and payload; the ledger has it as unsent.
struct Letter {
  std::uint64_t id = 0;
  std::vector<std::byte> payload;
  send::Envelope envelope;
  shm::Extension extension{};
};

inline constexpr std::uint32_t kInboxCapacity = 16;

class Rig {
 public:
  explicit Rig(const shm::HomeOptions& options);

  World world;
  Ledger ledger;

  // ---- For operations: the results that `after` reads ----
  std::vector<std::unique_ptr<Letter>> planned;
  SendStatus outcome = SendStatus::kFull;
  shm::EntryIndex at = shm::kNoEntry;  // the entry that the operation works on, or has taken
  std::uint64_t target = 0;            // id of its message
  std::optional<shm::SlabPool::Loan> loan;
  std::vector<std::uint64_t> finished;  // ids
  receive::PendingReply pending;
  Life* next = nullptr;       // a life that is being built
  bool faded = false;         // the coordinator has forgotten the sender's link
  bool is_contended = false;  // the other end runs meanwhile: a full lane or table may get room
  std::vector<Book> books;    // the directory before the operation, and after it
  std::unique_ptr<Annals> annals;  // for an operation that records

  [[nodiscard]] Life& sender() { return world.sender(); }
  [[nodiscard]] receive::Receiver& receiver() { return *world.receiver().receiver; }
  // Sends one message by the engine's own calls, with the payload of its plan.
  SendStatus post(const Letter& letter);
  SendStatus post_loan(const Letter& letter);

  // ---- To arrange states: the ledger follows ----
  Letter& plan(const Plan& plan);
  void know_slabs(std::uint64_t bytes);  // there is memory for slabs of this size
  std::uint64_t send(const Plan& plan);
  void drain();
  // Leases the best message; returns its id.
  std::uint64_t take();
  // Leases this message. REQUIRES: it is queued and indexed.
  void take(std::uint64_t id);
  void done(std::uint64_t id);
  void requeue(std::uint64_t id);
  void bury(std::uint64_t id, shm::DeadReason reason);
  void finish_all();    // takes and finishes all messages
  void finish_lanes();  // the same, while the lanes or half of the table are not empty
  void hand_over();     // the receiver dies and has a successor
  void send_and_finish(const Plan& plan);

  // ---- The ledger after an operation ----
  [[nodiscard]] Message& message(std::uint64_t id);
  // The planned messages went out, as far as `outcome` says.
  void note_sent(const Letter& letter);
  void note_leased(shm::EntryIndex entry);
  void note_records() { books.push_back(read_book(world.directory().view())); }
  void set_fate(std::uint64_t id, Fate fate) { message(id).fate = fate; }

  // The entry of a message in the table, or kNoEntry.
  [[nodiscard]] shm::EntryIndex entry_of(std::uint64_t id);
  [[nodiscard]] std::uint64_t id_at(shm::EntryIndex entry);
  [[nodiscard]] std::uint8_t attempts_at(shm::EntryIndex entry);

 private:
  SendStatus write(const Letter& letter, shm::SlabPool::Loan* lent);
  void finish_one();

  std::uint64_t last_counter_ = 0;  // of the sender's ids
};

}  // namespace beeline::killpoints
