#include "tests/fault/ledger.h"

#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "shm/identity.h"
#include "src/os/clock.h"

namespace beeline::test {

namespace {

// A word of the ledger: receipts in the lowest byte, flags, and the counter of the message id.
constexpr std::uint64_t kReceipts = 0xff;
constexpr std::uint64_t kAttempted = 1 << 8;
constexpr std::uint64_t kAccepted = 1 << 9;
constexpr std::uint64_t kRefused = 1 << 10;
constexpr std::uint64_t kFinished = 1 << 11;
constexpr std::uint64_t kEnding = 1 << 12;
constexpr int kIdShift = 24;

}  // namespace

const char* to_string(Fault fault) {
  switch (fault) {
    case Fault::kNone:
      return "none";
    case Fault::kDamaged:
      return "its payload is damaged";
    case Fault::kMisrouted:
      return "it was for another receiver";
    case Fault::kNeverSent:
      return "it was never sent";
    case Fault::kTwice:
      return "handed out twice without the redelivered flag";
    case Fault::kAfterDone:
      return "handed out again after done";
    case Fault::kWrongSender:
      return "its id names another sender than its payload";
    case Fault::kNoLetter:
      return "it is a dead letter, though it was not rejected";
    case Fault::kOvertaken:
      return "a later message of this sender and rank was handed out before it";
  }
  return "unknown";
}

const char* to_string(Chronicle::Step step) {
  switch (step) {
    case Chronicle::Step::kAttempted:
      return "is about to be sent";
    case Chronicle::Step::kAccepted:
      return "was accepted";
    case Chronicle::Step::kRefused:
      return "was refused";
    case Chronicle::Step::kReceived:
      return "was handed out";
    case Chronicle::Step::kFinished:
      return "was finished";
  }
  return "unknown";
}

void Chronicle::note(std::uint32_t player, Step step, std::uint32_t sender, std::uint32_t receiver,
                     std::uint64_t sequence) {
  static const auto process = static_cast<std::uint32_t>(::getpid());
  const std::uint64_t at = next_[player].load();
  entries_[player][at % kEntries] = {os::monotonic_ns(), sequence, sender, receiver, process, step};
  next_[player].store(at + 1);
}

std::vector<Chronicle::Entry> Chronicle::about(std::uint32_t sender, std::uint32_t receiver,
                                               std::uint64_t sequence) const {
  std::vector<Entry> found;
  for (const std::uint32_t player : {sender, receiver}) {
    const std::uint64_t end = next_[player].load();
    for (std::uint64_t i = end - std::min<std::uint64_t>(end, kEntries); i < end; ++i) {
      const Entry& entry = entries_[player][i % kEntries];
      const bool is_it = entry.sender == sender && entry.receiver == receiver &&
                         entry.sequence == sequence && entry.ns != 0;
      if (is_it) found.push_back(entry);
    }
  }
  std::sort(found.begin(), found.end(), [](const Entry& a, const Entry& b) { return a.ns < b.ns; });
  return found;
}

std::uint64_t Ledger::attempt(std::uint32_t sender, std::uint32_t receiver) {
  const std::uint64_t sequence = next_[sender][receiver].load();
  if (sequence >= kMaxSequences) return kMaxSequences;
  next_[sender][receiver].store(sequence + 1);
  words_[sender][receiver][sequence].fetch_or(kAttempted);
  chronicle_.note(sender, Chronicle::Step::kAttempted, sender, receiver, sequence);
  return sequence;
}

void Ledger::accept(std::uint32_t sender, std::uint32_t receiver, std::uint64_t sequence,
                    MessageId id) {
  words_[sender][receiver][sequence].fetch_or(kAccepted | shm::counter_of_message(id) << kIdShift);
  chronicle_.note(sender, Chronicle::Step::kAccepted, sender, receiver, sequence);
}

void Ledger::refuse(std::uint32_t sender, std::uint32_t receiver, std::uint64_t sequence) {
  words_[sender][receiver][sequence].fetch_or(kRefused);
  chronicle_.note(sender, Chronicle::Step::kRefused, sender, receiver, sequence);
}

void Ledger::receive(const Receipt& receipt) {
  if (receipt.sender >= kMaxPlayers || receipt.receiver >= kMaxPlayers ||
      receipt.sequence >= kMaxSequences) {
    return complain(Fault::kDamaged, receipt, 0);
  }
  chronicle_.note(receipt.receiver, Chronicle::Step::kReceived, receipt.sender, receipt.receiver,
                  receipt.sequence);
  const std::uint64_t before =
      words_[receipt.sender][receipt.receiver][receipt.sequence].fetch_add(1);
  if ((before & kAttempted) == 0 || (before & kRefused) != 0) {
    complain(Fault::kNeverSent, receipt, before);
  }
  if ((before & kFinished) != 0) complain(Fault::kAfterDone, receipt, before);
  if ((before & kReceipts) != 0) {
    ++again_;
    if (receipt.attempts == 0) complain(Fault::kTwice, receipt, before);
  }
  if ((before & kEnding) != 0) {
    words_[receipt.sender][receipt.receiver][receipt.sequence].fetch_and(~kEnding);
  }
}

void Ledger::begin_end(const Receipt& receipt) {
  words_[receipt.sender][receipt.receiver][receipt.sequence].fetch_or(kEnding);
  progress_.raise();
}

void Ledger::finish(const Receipt& receipt) {
  words_[receipt.sender][receipt.receiver][receipt.sequence].fetch_or(kFinished);
  chronicle_.note(receipt.receiver, Chronicle::Step::kFinished, receipt.sender, receipt.receiver,
                  receipt.sequence);
}

bool Ledger::was_handed_out(const Receipt& receipt) const {
  if (receipt.sender >= kMaxPlayers || receipt.sequence >= kMaxSequences) return false;
  const std::uint64_t word = words_[receipt.sender][receipt.receiver][receipt.sequence].load();
  const bool is_it =
      (word & kAccepted) == 0 || word >> kIdShift == shm::counter_of_message(receipt.id);
  return is_it && (word & kReceipts) != 0;
}

void Ledger::complain(Fault fault, const Receipt& receipt, std::uint64_t word) {
  const std::uint32_t at = fault_count_.fetch_add(1);
  if (at >= kKeptFaults) return;
  faults_[at] = {
      fault, receipt.sender, receipt.receiver, receipt.attempts, receipt.sequence, receipt.id,
      word};
}

std::uint64_t Ledger::accepted() const {
  std::uint64_t count = 0;
  for (std::uint32_t s = 0; s < kMaxPlayers; ++s) {
    for (std::uint32_t r = 0; r < kMaxPlayers; ++r) {
      const auto* words = words_[s][r];
      count += static_cast<std::uint64_t>(
          std::count_if(words, words + attempted(s, r),
                        [](const auto& word) { return (word.load() & kAccepted) != 0; }));
    }
  }
  return count;
}

std::vector<MissingMessage> Ledger::missing(std::size_t limit) const {
  std::vector<MissingMessage> found;
  for (std::uint32_t s = 0; s < kMaxPlayers; ++s) {
    for (std::uint32_t r = 0; r < kMaxPlayers; ++r) {
      for (std::uint64_t i = 0; i < attempted(s, r) && found.size() < limit; ++i) {
        const std::uint64_t word = words_[s][r][i].load();
        if ((word & kAccepted) != 0 && (word & kEnding) == 0) found.push_back({s, r, i, word});
      }
    }
  }
  return found;
}

std::uint64_t Ledger::half_ended(std::uint32_t receiver) const {
  constexpr std::uint64_t kAll = kAccepted | kEnding | kFinished;
  std::uint64_t count = 0;
  for (std::uint32_t s = 0; s < kMaxPlayers; ++s) {
    for (std::uint64_t i = 0; i < attempted(s, receiver); ++i) {
      if ((words_[s][receiver][i].load() & kAll) == (kAccepted | kEnding)) ++count;
    }
  }
  return count;
}

std::vector<FaultRecord> Ledger::faults() const {
  const std::size_t count = std::min<std::size_t>(fault_count_.load(), kKeptFaults);
  return {faults_.begin(), faults_.begin() + static_cast<std::ptrdiff_t>(count)};
}

std::string Ledger::story(std::uint32_t sender, std::uint32_t receiver,
                          std::uint64_t sequence) const {
  std::ostringstream text;
  for (const Chronicle::Entry& entry : chronicle_.about(sender, receiver, sequence)) {
    text << "  " << entry.ns / 1'000'000 << " ms: it " << to_string(entry.step) << ", by process "
         << entry.process << "\n";
  }
  return text.str();
}

std::string describe(std::uint64_t word) {
  std::ostringstream text;
  text << ((word & kAttempted) != 0 ? "attempted" : "never attempted");
  if ((word & kAccepted) != 0) text << ", accepted with id counter " << (word >> kIdShift);
  if ((word & kRefused) != 0) text << ", refused";
  text << ", received " << (word & kReceipts) << " times";
  if ((word & kEnding) != 0) text << ", its end has begun";
  if ((word & kFinished) != 0) text << ", finished";
  return text.str();
}

std::string describe(const MissingMessage& missing) {
  std::ostringstream text;
  text << "message " << missing.sequence << " of player-" << missing.sender << " for player-"
       << missing.receiver << ": " << describe(missing.word);
  return text.str();
}

std::string describe(const FaultRecord& fault) {
  std::ostringstream text;
  text << "message " << fault.sequence << " of player-" << fault.sender << " for player-"
       << fault.receiver << ", id " << fault.id << ", attempts " << fault.attempts << ": "
       << to_string(fault.fault);
  if (fault.fault == Fault::kOvertaken) {
    text << ": " << fault.word - 1;
  } else {
    text << "; the ledger knew: " << describe(fault.word);
  }
  return text.str();
}

}  // namespace beeline::test
