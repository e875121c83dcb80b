#pragma once
// One life of an agent with one peer, composed as the agent does it: home, receiver, send path, its
// own link. Segments are real: sealed memfds that readers map read-only.

#include <cstdint>
#include <memory>
#include <optional>

#include "src/control/directory_segment.h"
#include "src/receive/successor.h"
#include "src/send/send_path.h"
#include "tests/killpoints/image.h"

namespace beeline::killpoints {

inline constexpr char kHive[] = "killpoints";
inline constexpr shm::LinkContract kContract{8, 4, shm::kMinMaxPayload};
// The bytes of these slabs are compared; no scenario may use more.
inline constexpr std::uint32_t kWatchedSlabs = 24;      // of 1 KiB
inline constexpr std::uint32_t kWatchedLargeSlabs = 8;  // of 8 KiB

// Ends a scenario that cannot be set up.
struct RigError {
  std::string text;
};

template <typename T>
[[nodiscard]] T need(Result<T> result) {
  if (!result) throw RigError{result.error().text};
  return std::move(*result);
}

class World;

struct Life {
  World* world = nullptr;
  std::uint32_t pid = 0;
  std::uint32_t peer = 0;   // its pid
  std::uint32_t index = 0;  // of its word in the directory
  shm::Incarnation incarnation;
  std::unique_ptr<receive::Receiver> receiver;
  std::optional<send::OutLink> out;
  std::optional<shm::LinkView> shown;  // `out` as its reader sees it
  os::Mapping whole;                   // `out` from end to end, for the tools
  send::SendPath path;
  bool lies = false;        // its segments hold lies
  bool takes_back = false;  // and it has sent its sender receipts that it has withdrawn since

  [[nodiscard]] const shm::Home& home() const { return receiver->home().home(); }
  // The memory of its home and its link that it can write.
  [[nodiscard]] Image image() const;
};

// Both agents, all their lives, and the directory.
class World {
 public:
  explicit World(const shm::HomeOptions& options);

  [[nodiscard]] Life& sender() { return *sender_; }
  [[nodiscard]] Life& receiver() { return *receiver_; }
  [[nodiscard]] control::DirectorySegment& directory() { return directory_; }
  [[nodiscard]] Image directory_image(std::uint32_t records) const;
  // The memory that any process can write.
  [[nodiscard]] Image image() const;

  // The life of this agent that the directory names.
  [[nodiscard]] Life& life_that_counts(const Life& agent);
  // An empty home and link for the next life.
  [[nodiscard]] Life& make_life(const Life& before);
  // Builds the next life from `before` as Inheritance::take_over() does, up to the point at which
  // the directory may name it. Errors: those of the functions that read the old segments.
  [[nodiscard]] static Result<void> inherit(Life& next, const Life& before,
                                            const std::vector<Life*>& peers);
  // The directory names this life from now on.
  void name(const Life& life);
  // The life that was made last ends without a trace.
  void forget(const Life& life);
  // An agent falls asleep: all share one status page and one bell, so any will do.
  void fall_asleep();
  // It wakes up. True if it was rung.
  [[nodiscard]] bool wake_up();
  void replace_receiver(Life& next) { receiver_ = &next; }
  void replace_sender(Life& next) { sender_ = &next; }

  [[nodiscard]] send::PeerLife find(std::uint32_t pid, shm::Incarnation incarnation) const;
  // `reader` learns of the link of `owner`: it gives the link a row and a bank, and the sender's
  // half knows the bank.
  static void connect(Life& reader, Life& owner);

 private:
  Life& add(std::uint32_t pid, std::uint32_t peer, shm::Incarnation incarnation);
  void make_path(Life& life);

  shm::HomeOptions options_;
  control::DirectorySegment directory_;
  [[nodiscard]] shm::StatusPage& status() const {
    return *reinterpret_cast<shm::StatusPage*>(status_.data());
  }

  segment::Owned status_;  // no agent sleeps here while an operation is swept
  os::UniqueFd bell_;
  std::vector<std::unique_ptr<Life>> lives_;
  Life* sender_ = nullptr;
  Life* receiver_ = nullptr;
};

inline constexpr std::uint32_t kSenderPid = 7;
inline constexpr std::uint32_t kReceiverPid = 9;

}  // namespace beeline::killpoints
