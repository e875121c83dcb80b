#pragma once
// The invariants of a directory and of a status page. REQUIRES of every walker here:
// verify_header() found nothing.
//
//   directory  the word `current` follows from the epoch at creation and the number of
//              publications;
//              agent words have legal states, lives and no life twice;
//              at rest no more packets were taken than were due;
//              records of the current buffer have names, pids that are unique, and parents that
//              are older (at rest: that are there)
//   status     legal sleep word, counts within the capacity

#include <algorithm>

#include "shm/verify_header.h"

namespace beeline::shm {

[[nodiscard]] inline std::uint64_t agent_word_at(std::uint64_t index) {
  return DirectoryLayout::kWords + index * 8;
}

[[nodiscard]] inline std::uint64_t packets_at(std::uint64_t index) {
  return DirectoryLayout::kPackets + index * sizeof(PacketCounts);
}

// The record of an agent in the buffer that is current.
[[nodiscard]] inline std::uint64_t record_at(ByteView bytes, std::uint64_t index) {
  const std::uint64_t current =
      bytes.u64(DirectoryLayout::kControl + offsetof(DirectoryControl, current));
  return ((current & 1) != 0 ? DirectoryLayout::kRecords1 : DirectoryLayout::kRecords0) +
         index * sizeof(AgentRecord);
}

[[nodiscard]] inline std::uint32_t agent_count_of(ByteView bytes) {
  const std::uint64_t count =
      bytes.u64(DirectoryLayout::kControl + offsetof(DirectoryControl, agent_count));
  return count < kMaxAgents ? static_cast<std::uint32_t>(count) : kMaxAgents;
}

[[nodiscard]] inline Finding verify_directory_control(ByteView bytes) {
  const auto field = [](std::size_t offset) { return DirectoryLayout::kControl + offset; };
  const std::uint64_t current = field(offsetof(DirectoryControl, current));
  const std::uint64_t count = field(offsetof(DirectoryControl, agent_count));
  const std::uint64_t payload = field(offsetof(DirectoryControl, max_payload_bytes));
  const std::uint64_t created = bytes.u64(offsetof(SegmentHeader, owner_incarnation));
  const std::uint64_t epoch = bytes.u64(current) >> 1;
  if (epoch < created) return broken("directory.epoch", current, epoch, created);
  // Each publication raises the epoch by one and turns to the other buffer.
  if (auto finding =
          equal("directory.current", current, bytes.u64(current) & 1, (epoch - created) & 1)) {
    return finding;
  }
  if (auto finding = at_most("directory.agent_count", count, bytes.u64(count), kMaxAgents)) {
    return finding;
  }
  const std::uint64_t max_payload = bytes.u64(payload);
  if (max_payload < kMinMaxPayload || max_payload > kMaxMaxPayload) {
    return broken("directory.max_payload", payload, max_payload, kMaxMaxPayload);
  }
  const std::uint64_t history = field(offsetof(DirectoryControl, history));
  if (auto finding = at_most("directory.history", history, bytes.u64(history),
                             static_cast<std::uint64_t>(HistoryLevel::kPreviews))) {
    return finding;
  }
  const std::uint64_t reserved = field(offsetof(DirectoryControl, reserved));
  return all_zero("directory.reserved", bytes, reserved, sizeof(DirectoryControl::reserved));
}

[[nodiscard]] inline Finding verify_agent_words(ByteView bytes) {
  std::array<Incarnation, kMaxAgents> lives;
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < agent_count_of(bytes); ++i) {
    const std::uint64_t at = agent_word_at(i);
    const AgentWord word = AgentWord::unpack(bytes.u64(at));
    if (auto finding = at_most("agent.state", at, static_cast<std::uint64_t>(word.state),
                               static_cast<std::uint64_t>(AgentState::kDead))) {
      return finding;
    }
    if (word.state == AgentState::kVacant) {
      if (auto finding = equal("agent.vacant", at, bytes.u64(at), 0)) return finding;
    } else if (word.incarnation == kNoIncarnation && word.state == AgentState::kRunning) {
      return broken("agent.incarnation", at, 0, kMaxIncarnation);
    }
    if (word.incarnation != kNoIncarnation) lives[count++] = word.incarnation;
  }
  const auto end = lives.begin() + static_cast<std::ptrdiff_t>(count);
  std::sort(lives.begin(), end);
  if (const auto twice = std::adjacent_find(lives.begin(), end); twice != end) {
    return broken("agent.unique", DirectoryLayout::kWords, twice->value(), 1);
  }
  return std::nullopt;
}

// A packet is counted as due before it is counted as taken. A copy is taken in steps, and both
// counts may rise between them.
[[nodiscard]] inline Finding verify_packets(ByteView bytes) {
  for (std::uint32_t i = 0; i < agent_count_of(bytes); ++i) {
    const std::uint64_t at = packets_at(i);
    const std::uint64_t taken = at + offsetof(PacketCounts, taken);
    if (auto finding = at_most("packets.taken", taken, bytes.u64(taken), bytes.u64(at))) {
      return finding;
    }
  }
  return std::nullopt;
}

// A name is 1 to 64 bytes, and zero after its end.
[[nodiscard]] inline Finding verify_name(std::uint64_t at, const AgentRecord& record) {
  const std::uint64_t where = at + offsetof(AgentRecord, name);
  if (record.name[0] == 0) return broken("record.name", where, 0, kNameBytes);
  std::size_t length = 0;
  while (length < kNameBytes && record.name[length] != 0) ++length;
  for (std::size_t i = 0; i < kNameBytes; ++i) {
    const auto byte = static_cast<unsigned char>(record.name[i]);
    if (i >= length && byte != 0) return broken("record.name_end", where + i, byte, 0);
    if (i < length && (byte < 0x20 || byte == 0x7f)) {
      return broken("record.name_text", where + i, byte, 0x7e);
    }
  }
  return std::nullopt;
}

[[nodiscard]] inline Finding verify_record(std::uint64_t at, const AgentRecord& record) {
  const std::uint64_t parent = at + offsetof(AgentRecord, parent_pid);
  const std::uint64_t flags = at + offsetof(AgentRecord, flags);
  if (auto finding = at_most("record.pid", at, record.pid, kMaxPid)) return finding;
  // A parent is older than its child, so no chain of parents is a circle.
  if (auto finding = at_most("record.parent", parent, record.parent_pid, record.pid - 1)) {
    return finding;
  }
  if (auto finding = at_most("record.flags", flags, record.flags, kRecordTemporary)) {
    return finding;
  }
  return verify_name(at, record);
}

[[nodiscard]] inline Finding verify_records(ByteView bytes, Taken taken) {
  std::array<std::uint32_t, kMaxAgents> pids;
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < agent_count_of(bytes); ++i) {
    const auto record = bytes.load<AgentRecord>(record_at(bytes, i));
    if (record.pid == 0) continue;
    if (auto finding = verify_record(record_at(bytes, i), record)) return finding;
    pids[count++] = record.pid;
  }
  const auto end = pids.begin() + static_cast<std::ptrdiff_t>(count);
  std::sort(pids.begin(), end);
  if (const auto twice = std::adjacent_find(pids.begin(), end); twice != end) {
    return broken("record.unique", record_at(bytes, 0), *twice, 1);
  }
  // While agents register again after a restart of the coordinator, a parent may come after its
  // child.
  for (std::uint32_t i = 0; taken == Taken::kAtRest && i < agent_count_of(bytes); ++i) {
    const auto record = bytes.load<AgentRecord>(record_at(bytes, i));
    if (record.pid == 0 || record.parent_pid == 0) continue;
    if (!std::binary_search(pids.begin(), end, record.parent_pid)) {
      return broken("record.parent_exists", record_at(bytes, i) + offsetof(AgentRecord, parent_pid),
                    record.parent_pid, record.pid - 1);
    }
  }
  return std::nullopt;
}

[[nodiscard]] inline Finding verify_directory(ByteView bytes, Taken taken) {
  if (auto finding = verify_directory_control(bytes)) return finding;
  if (auto finding = verify_agent_words(bytes)) return finding;
  if (taken == Taken::kAtRest) {
    if (auto finding = verify_packets(bytes)) return finding;
  }
  return verify_records(bytes, taken);
}

[[nodiscard]] inline Finding verify_status(ByteView bytes, Taken taken) {
  constexpr std::uint64_t kSleepAt = offsetof(StatusPage, sleep);
  constexpr std::uint64_t kQueuedAt = offsetof(StatusPage, queued);
  constexpr std::uint64_t kCriticalAt = offsetof(StatusPage, critical_queued);
  constexpr std::uint64_t kCapacityAt = offsetof(StatusPage, capacity);
  if (auto finding = at_most("status.sleep", kSleepAt, bytes.u64(kSleepAt) & kHowAsleep,
                             static_cast<std::uint64_t>(Sleep::kEvent))) {
    return finding;
  }
  const std::uint32_t capacity = bytes.u32(kCapacityAt);
  if (auto finding = at_most("status.capacity", kCapacityAt, capacity, kMaxEntries)) {
    return finding;
  }
  if (auto finding = at_most("status.queued", kQueuedAt, bytes.u32(kQueuedAt), capacity)) {
    return finding;
  }
  constexpr std::uint64_t kActivityAt = offsetof(StatusPage, activity);
  if (auto finding = at_most("status.activity", kActivityAt, bytes.u32(kActivityAt),
                             static_cast<std::uint64_t>(AgentActivity::kSleeping))) {
    return finding;
  }
  // The two counts are two stores: a kill may fall between them.
  if (taken == Taken::kAtRest) {
    if (auto finding = at_most("status.critical_queued", kCriticalAt, bytes.u32(kCriticalAt),
                               bytes.u32(kQueuedAt))) {
      return finding;
    }
  }
  return all_zero("status.reserved", bytes, offsetof(StatusPage, reserved_page),
                  sizeof(StatusPage::reserved_page));
}

}  // namespace beeline::shm
