#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <beeline/result.h>

#include "shm/directory.h"
#include "src/os/fd.h"
#include "src/os/mapping.h"

namespace beeline::control {

// The coordinator's directory segment: creates it, hands out places in it, publishes changes. The
// layout and its proofs are in shm/directory.h. Not thread safe.
class DirectorySegment {
 public:
  // Makes an empty directory with this epoch. Errors: kSystem, kNoMemory.
  [[nodiscard]] static Result<DirectorySegment> create(const std::string& hive, std::uint64_t epoch,
                                                       std::uint64_t max_payload_bytes);

  // Takes a free place in which no life from this incarnation on was named. A returned place rests
  // for a while before it is used again, unless there is no other. So an agent that looks rarely
  // does not mistake its new tenant; it must compare the pid of the record all the same. Errors:
  // kFull (the limit), kNoMemory.
  [[nodiscard]] Result<std::uint32_t> take_index(
      shm::Incarnation below = shm::Incarnation(shm::kMaxIncarnation));
  // Takes a given place, for agents that are restored. False if it is taken or out of range.
  [[nodiscard]] bool claim_index(std::uint32_t index);
  // Frees a place; its word stays as it is until it is taken again.
  void give_back(std::uint32_t index);

  // Changes a record; visible after publish().
  void set_record(std::uint32_t index, const shm::AgentRecord& record);
  // Makes all changed records visible at once. Errors: kNoMemory.
  [[nodiscard]] Result<void> publish();
  // Sets the word of a place; visible at once. The incarnation in a place never falls, even if the
  // tenant changes: a reader that finds a higher one than that of a link knows that the owner of
  // the link has gone.
  void set_word(std::uint32_t index, shm::AgentWord word);
  // Counts a packet for the agent in this place before sending it, and again once the socket has
  // taken or lost it. Visible at once.
  void count_due(std::uint32_t index);
  void count_taken(std::uint32_t index);
  // Sets how much the agents record; visible at once.
  void set_history(shm::HistoryLevel level) { writer_->set_history(level); }
  // Says in the former place of a life, which may have another tenant now, that this life has
  // ended.
  void set_gone(std::uint32_t index, shm::Incarnation incarnation);

  [[nodiscard]] shm::DirectoryView view() const { return writer_->view(); }
  [[nodiscard]] std::uint64_t epoch() const { return view().epoch(); }
  [[nodiscard]] std::uint64_t max_payload_bytes() const {
    return view().control().max_payload_bytes;
  }
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

 private:
  struct Resting {
    std::uint32_t index = 0;
    std::int64_t since_ns = 0;
  };

  DirectorySegment() = default;
  // Allocates both record buffers up to `count` records.
  Result<void> grow(std::uint32_t count);

  os::UniqueFd fd_;
  os::Mapping mapping_;
  std::optional<shm::DirectoryWriter> writer_;
  std::vector<shm::AgentRecord> records_;  // indices below size() are or were in use
  std::vector<bool> taken_;
  std::vector<Resting> resting_;  // oldest first
  std::uint32_t allocated_ = 0;   // records with allocated memory
};

}  // namespace beeline::control
