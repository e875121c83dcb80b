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
  // The message that was sent last, through this link. Reads it where it lies, so that a send
  // need not keep any part of it for this.
  [[gnu::cold, gnu::noinline]] void note_sent(const send::OutLink& link);
  // The message of this entry was handed out, or ends now.
  [[gnu::cold, gnu::noinline]] void note(shm::EntryIndex entry, shm::HistoryEvent event,
                                         shm::DeadReason reason = shm::DeadReason::kNone);
  // Runs inside fork(): stores alone.
  void become_a_copy() const { segment_.hold_addresses_in_child(); }

 private:
  // One ring: its writer, and how much memory it has.
  struct Ring {
    shm::HistoryWriter writer;
    std::uint32_t rows = 0;
    std::uint32_t previews = 0;
  };
  [[nodiscard]] bool make_segment();
  void set_level(shm::HistoryLevel level);
  void show_segment();
  [[nodiscard]] bool make_room(Ring& ring);
  void write(shm::HistoryRing which, const shm::HistoryRow& row,
             std::span<const std::byte> payload);

  Needs with_;
  segment::Owned segment_;
  std::array<Ring, shm::kHistoryRings> rings_;
  shm::HistoryLevel level_ = shm::HistoryLevel::kOff;  // changes under the send lock
  bool is_made_ = false;
  bool has_failed_ = false;     // there was no memory for a segment
  std::uint64_t shown_to_ = 0;  // the coordinator that was given the segment, by its epoch
};

}  // namespace beeline
