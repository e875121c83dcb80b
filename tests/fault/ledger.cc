#include "tests/fault/ledger.h"

#include <algorithm>
#include <sstream>

#include "shm/identity.h"

namespace beeline::test {

namespace {

// A word of the ledger: receipts in the lowest byte, flags, and the counter of the message id.
constexpr std::uint64_t kReceipts = 0xff;
constexpr std::uint64_t kAttempted = 1 << 8;
constexpr std::uint64_t kAccepted = 1 << 9;
constexpr std::uint64_t kRefused = 1 << 10;
constexpr std::uint64_t kFinished = 1 << 11;
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
  }
  return "unknown";
}

std::uint64_t Ledger::attempt(std::uint32_t sender, std::uint32_t receiver) {
  const std::uint64_t sequence = next_[sender][receiver].load();
  if (sequence >= kMaxSequences) return kMaxSequences;
  next_[sender][receiver].store(sequence + 1);
  words_[sender][receiver][sequence].fetch_or(kAttempted);
  return sequence;
}

void Ledger::accept(std::uint32_t sender, std::uint32_t receiver, std::uint64_t sequence,
                    MessageId id) {
  words_[sender][receiver][sequence].fetch_or(kAccepted | shm::counter_of_message(id) << kIdShift);
}

void Ledger::refuse(std::uint32_t sender, std::uint32_t receiver, std::uint64_t sequence) {
  words_[sender][receiver][sequence].fetch_or(kRefused);
}

void Ledger::receive(const Receipt& receipt) {
  if (receipt.sender >= kMaxPlayers || receipt.receiver >= kMaxPlayers ||
      receipt.sequence >= kMaxSequences) {
    return complain(Fault::kDamaged, receipt, 0);
  }
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
  progress_.raise();
}

void Ledger::finish(const Receipt& receipt) {
  words_[receipt.sender][receipt.receiver][receipt.sequence].fetch_or(kFinished);
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
        if ((word & kAccepted) != 0 && (word & kReceipts) == 0) found.push_back({s, r, i, word});
      }
    }
  }
  return found;
}

std::vector<FaultRecord> Ledger::faults() const {
  const std::size_t count = std::min<std::size_t>(fault_count_.load(), kKeptFaults);
  return {faults_.begin(), faults_.begin() + static_cast<std::ptrdiff_t>(count)};
}

std::string describe(std::uint64_t word) {
  std::ostringstream text;
  text << ((word & kAttempted) != 0 ? "attempted" : "never attempted");
  if ((word & kAccepted) != 0) text << ", accepted with id counter " << (word >> kIdShift);
  if ((word & kRefused) != 0) text << ", refused";
  text << ", received " << (word & kReceipts) << " times";
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
       << to_string(fault.fault) << "; the ledger knew: " << describe(fault.word);
  return text.str();
}

}  // namespace beeline::test
