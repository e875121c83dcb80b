#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "shm/entry.h"
#include "src/control/tree.h"

namespace beeline::control {

inline constexpr std::size_t kMaxKeptLetters = 10'000;
inline constexpr std::size_t kMaxKeptLetterBytes = 64U << 20;
inline constexpr std::size_t kMaxLetterPayload = 64U << 10;  // beyond it the payload is cut

// A message that was accepted but that no agent will take any more.
struct DeadLetter {
  std::uint64_t number = 0;  // its place in the order of arrival; given by DeadLetters
  Pid from = kNoPid;
  Pid to = kNoPid;
  std::string to_name;
  shm::MessageHeader header{};
  shm::Extension extension{};  // zeros when it carries none
  std::string type;
  std::string channel;
  std::uint32_t attempts = 0;
  shm::DeadReason reason = shm::DeadReason::kReceiverDead;
  std::string payload;  // at most kMaxLetterPayload; header.length is the true length
};

// The letters of agents that ended for good. Bounded: the oldest are dropped and counted. The
// letters live as long as the coordinator; the count survives it. Not thread safe.
class DeadLetters {
 public:
  void add(DeadLetter letter) {
    letter.number = ++total_;
    bytes_ += letter.payload.size();
    letters_.push_back(std::move(letter));
    while (letters_.size() > kMaxKeptLetters || bytes_ > kMaxKeptLetterBytes) {
      bytes_ -= letters_.front().payload.size();
      letters_.pop_front();
    }
  }

  // The letter of this message for this agent; null if it is not held.
  [[nodiscard]] const DeadLetter* find(std::uint64_t id, Pid to) const {
    const auto found = std::find_if(letters_.begin(), letters_.end(), [&](const auto& letter) {
      return letter.header.id == id && letter.to == to;
    });
    return found == letters_.end() ? nullptr : &*found;
  }

  // Drops letters: of one message, or all with `id` 0; for one agent, or for any with `to` 0.
  // Returns how many.
  std::size_t purge(std::uint64_t id, Pid to) {
    return std::erase_if(letters_, [&](const DeadLetter& letter) {
      if (id != 0 && letter.header.id != id) return false;
      if (to != kNoPid && letter.to != to) return false;
      bytes_ -= letter.payload.size();
      return true;
    });
  }

  // Counts letters that earlier coordinators took over; `total` is the known number of them.
  void restore_total(std::uint64_t total) noexcept { total_ = std::max(total_, total); }

  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }
  [[nodiscard]] const std::deque<DeadLetter>& kept() const noexcept { return letters_; }

 private:
  std::deque<DeadLetter> letters_;
  std::size_t bytes_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace beeline::control
