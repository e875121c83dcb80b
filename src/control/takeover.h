#pragma once

// The last reading of a finally dead agent. Messages that it had taken and not finished, and
// messages in its in-lanes, become dead letters of the coordinator (`receiver_dead`; letters that
// were dead already keep their reason). The reading waits for agents that can still send to the
// dead one: after a restart of the coordinator they may read the last one's directory, which says
// that it lives. Everything is read with pread and judged as from a hostile writer, in steps that
// are small enough to fit between two turns of the event loop.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shm/handover.h"
#include "src/control/hive.h"

namespace beeline::control {

// Reads the segments of a dead agent, once, before they are dropped. If the machine lacks
// something just now, memory above all, it waits a moment; a failure that lasts is remembered for
// the log.
class LastReader {
 public:
  // False if there is less, or if it cannot be read. Holes read as zero.
  [[nodiscard]] bool read(int fd, std::uint64_t offset, std::span<std::byte> bytes);
  template <typename T>
  [[nodiscard]] bool read_value(int fd, std::uint64_t offset, T& value) {
    return read(fd, offset, std::as_writable_bytes(std::span(&value, 1)));
  }
  // The first failure; empty if everything could be read.
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }

 private:
  std::string failure_;
};

// Works through Hive::takeovers. Not thread safe.
class TakeoverWorker {
 public:
  // Does a bounded piece of work. True if there is more to do. If no agent waits for its
  // take-over, looks at the agents in Hive::looks.due, and ends for good those for which nothing
  // waits.
  bool step(Hive& hive);

 private:
  // One in-link of the dead agent.
  struct InLink {
    shm::LinkKey key;
    Pid owner = kNoPid;
    shm::LinkContract contract;
    SharedFd fd;
    std::array<std::uint64_t, shm::kLanes> cursors{};
    std::array<std::uint64_t, shm::kLanes> receipts{};
    std::vector<std::uint64_t> stamps;  // of the dead agent's finished messages; empty = none
    bool forgotten = false;             // the dead agent had taken all, and closed its row
  };

  enum class Aim : std::uint8_t {
    kKeep,   // its messages become dead letters
    kPurge,  // its messages are only counted and dropped
    kLook,   // the agent is away: does anything wait for it?
  };

  void begin(Hive& hive, Pid pid, Aim aim);
  void read_rows(const Life& life);
  void read_receipts(Hive& hive, Pid pid, const Life& life, InLink& link);
  bool step_cursors();
  bool step_entries(Hive& hive);
  bool step_lanes(Hive& hive);
  bool take_slot(Hive& hive, const InLink& link, shm::Lane lane, std::uint64_t position);
  void keep(Hive& hive, const InLink& link, const shm::SlotCopy& slot, shm::DeadReason reason,
            std::uint32_t attempts);
  void finish(Hive& hive);
  void finish_look(Hive& hive);

  Pid pid_ = kNoPid;
  Aim aim_ = Aim::kKeep;
  shm::Incarnation incarnation_{};  // the life that owns the home
  LastReader reader_;
  SharedFd home_;
  std::uint32_t capacity_ = 0;
  std::uint32_t entries_ = 0;       // allocated
  std::uint64_t next_arrival_ = 0;  // of the home
  std::size_t next_cursors_ = 0;    // the link to look at next
  std::uint32_t next_entry_ = 0;
  std::vector<InLink> links_;
  bool has_rows_ = false;                  // the rows could be read
  std::vector<std::int32_t> link_of_row_;  // index into links_, -1 = none
  std::size_t next_link_ = 0;
  std::size_t next_lane_ = 0;
  std::uint64_t letters_ = 0;
};

}  // namespace beeline::control
