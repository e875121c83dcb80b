#pragma once
// The history that an agent writes of its messages while the hive wants one (shm/history.h).

#include <array>
#include <cstdint>
#include <span>

#include "shm/history.h"
#include "src/control/client.h"
#include "src/receive/receiver.h"
#include "src/segment/owned.h"
#include "src/send/out_link.h"
#include "src/send/send_path.h"

namespace beeline {

class Directory;
class Leases;
class OwnLife;
class PeerLinks;
class Sender;

// The agent's own thread, except note_sent(): any thread that holds the send lock.
class Recorder {
 public:
  struct Needs {
    OwnLife& life;
    Directory& directory;
    control::Client& client;
    receive::Receiver& receiver;
    PeerLinks& links;
    Sender& sender;
    Leases& leases;
  };
  explicit Recorder(const Needs& needs) : with_(needs) {}

  // Follows the word of the directory, and shows each new coordinator the segment.
  void look();
  // A message was sent through this link, just now.
  // SUBTLE: from values that its sender has at hand. The receiver takes the lines of the slot away
  // meanwhile, and to read them would cost more than the row.
  [[gnu::noinline]] void note_sent(const send::OutLink& link, std::uint64_t id,
                                   std::span<const std::byte> payload,
                                   const send::Envelope& envelope);
  // The message of this entry is handed out. `is_fresh`: it was found by a look just now, so the
  // time of that look is its time.
  [[gnu::noinline]] void note_taken(shm::EntryIndex entry, bool is_fresh);
  // The message of this entry ends now.
  [[gnu::noinline]] void note_end(shm::EntryIndex entry, shm::HistoryEvent event,
                                  shm::DeadReason reason = shm::DeadReason::kNone);
  // Runs inside fork(): stores alone.
  void become_a_copy() const { segment_.hold_addresses_in_child(); }

 private:
  // One ring: its writer, and how much memory it has.
  struct Ring {
    shm::HistoryWriter writer;
    std::uint32_t rows = 0;
    std::uint32_t previews = 0;
    std::uint64_t end = 0;  // from this position on somebody has to look for memory
  };
  [[nodiscard]] Ring& ring(shm::HistoryRing which) {
    return rings_[static_cast<std::size_t>(which)];
  }
  [[nodiscard]] bool make_segment();
  void set_level(shm::HistoryLevel level);
  void show_segment();
  // False: there is no memory now, and the row is left out.
  [[nodiscard, gnu::always_inline]] bool has_room(Ring& ring) {
    return ring.writer.position() < ring.end || make_room(ring);
  }
  [[nodiscard, gnu::noinline]] bool make_room(Ring& ring);
  [[nodiscard, gnu::noinline]] std::size_t put_preview(shm::EntryIndex entry);
  [[gnu::always_inline]] void note(shm::EntryIndex entry, shm::HistoryEvent event,
                                   shm::DeadReason reason, std::int64_t at_ns);

  Needs with_;
  segment::Owned segment_;
  std::array<Ring, shm::kHistoryRings> rings_;
  shm::HistoryLevel level_ = shm::HistoryLevel::kOff;  // changes under the send lock
  bool is_made_ = false;
  bool has_failed_ = false;  // there was no memory for a segment
  static constexpr std::int64_t kFirstPause = 1'000'000'000;
  static constexpr std::int64_t kLongestPause = 60'000'000'000;
  std::uint64_t shown_to_ = 0;  // the coordinator that has the segment kept, by its epoch
  std::uint64_t asked_ = 0;     // the question to it, 0: none is open
  std::int64_t next_ask_ns_ = 0;
  std::int64_t pause_ns_ = kFirstPause;  // after a refusal
};

}  // namespace beeline
