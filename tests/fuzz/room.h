#pragma once
// A victim with two peers: a hostile one with segments that the input writes, and an honest one
// with messages that must all arrive. The victim has the parts of an agent: home, receiver, links
// of its own. Segments are real: sealed and mapped read-only.

#include <memory>
#include <optional>

#include "src/receive/receiver.h"
#include "src/send/out_link.h"
#include "tests/fuzz/target.h"

namespace beeline::fuzz {

inline constexpr std::uint32_t kVictimPid = 9;
inline constexpr std::uint32_t kHostilePid = 7;
inline constexpr std::uint32_t kHonestPid = 8;
// After test::kReaderLife; it may inherit the home of that life.
inline constexpr shm::Incarnation kVictimLife{6000};
inline constexpr shm::LinkKey kHostileKey{shm::Incarnation(1000), 1};
inline constexpr shm::LinkKey kHonestKey{shm::Incarnation(2000), 1};
inline constexpr shm::LinkContract kContract{8, 4, shm::kMinMaxPayload};
inline constexpr std::uint32_t kCapacity = 64;

// Ends the program if the machine lacks something, because that is no finding.
template <typename T>
[[nodiscard]] T need(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "fuzz: %s\n", result.error().text.c_str());
  std::_Exit(77);
}

// Options of a victim, as bits.
inline constexpr unsigned kFifo = 1;        // order of its inbox; otherwise by rank and age
inline constexpr unsigned kByRelation = 2;  // ranks are computed
inline constexpr unsigned kRated = 4;       // it takes two messages at a time from the hostile peer
inline constexpr unsigned kSuperior = 8;    // the hostile peer is above it

class Room {
 public:
  explicit Room(unsigned kind = 0);

  [[nodiscard]] receive::Receiver& victim() { return *victim_; }
  // The hostile peer's link; the peer may write all of it.
  [[nodiscard]] send::OutLink& hostile() { return hostile_; }
  [[nodiscard]] std::span<std::byte> hostile_bytes() const;
  // The victim's links to the two.
  [[nodiscard]] send::OutLink& to_hostile() { return to_hostile_; }
  [[nodiscard]] send::OutLink& to_honest() { return to_honest_; }

  // The victim maps an announced link. Null if it refuses the link.
  receive::InLink* accept(send::OutLink& theirs, std::uint32_t owner, send::OutLink& ours);
  receive::InLink* accept_hostile();

  // The honest peer sends the next message, if there is room.
  void honest_sends();
  // Drains, takes and finishes everything. Demands that honest messages come in order and whole,
  // that views lie inside of the links, and that this ends.
  void drain_and_finish();
  // The same for one message in order. False if there was none.
  bool finish_one(std::uint8_t how);
  // Reads all parts of a taken message, and demands that views lie inside of its link.
  void look_at(shm::EntryIndex entry);
  // No message of the honest peer is left anywhere.
  void demand_all_honest();
  // All invariants of the home of the victim hold.
  void demand_sound_home();

 private:
  unsigned kind_;
  std::unique_ptr<receive::Receiver> victim_;
  send::OutLink hostile_;
  send::OutLink honest_;
  send::OutLink to_hostile_;
  send::OutLink to_honest_;
  receive::InLink* from_honest_ = nullptr;
  std::uint64_t sent_ = 0;      // by the honest peer
  std::uint64_t finished_ = 0;  // of that
};

}  // namespace beeline::fuzz
