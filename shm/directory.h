#pragma once
// The directory: the coordinator's segment, readable by all.
//
//   header | control: {epoch, index} word, counts, limits | word per agent | packets per agent
//   records, buffer 0 | records, buffer 1
//
// Written by: the coordinator alone. Read by: every agent and tool.
// The word of an agent (AgentWord) changes by one store. The coordinator writes the records (tree,
// names, roles) into the buffer that is not current. It makes that buffer current by one store of
// {epoch << 1 | index}, so no reader ever waits for a flag that a killed coordinator may have left
// set. A reader loads that word, copies records, loads the word again, and tries again if it
// changed twice meanwhile. A new coordinator makes a new directory with a higher epoch. Zero means:
// no agent in this place.

#include <cstring>

#include "shm/check.h"
#include "shm/identity.h"
#include "shm/segment.h"

namespace beeline::shm {

inline constexpr std::uint32_t kMaxAgents = 4096;
inline constexpr std::size_t kNameBytes = 64;

struct AgentRecord {
  std::uint32_t pid;
  std::uint32_t parent_pid;
  std::uint32_t role;
  std::uint32_t flags;        // kRecordTemporary
  std::uint32_t os_pid;       // as the coordinator sees it; for display, never an identity
  std::uint32_t uid;          // user of its first life, who owns its name
  std::uint64_t attached_ns;  // CLOCK_REALTIME
  std::uint64_t restarts;     // incarnations before this one
  std::uint64_t reserved2[3];
  char name[kNameBytes];  // UTF-8, zero-terminated unless 64 bytes long
};
static_assert(sizeof(AgentRecord) == 128);
static_assert(offsetof(AgentRecord, uid) == 20);
static_assert(offsetof(AgentRecord, attached_ns) == 24);
static_assert(offsetof(AgentRecord, name) == 64);

inline constexpr std::uint32_t kRecordTemporary = 1;

// True if agents with these parents are siblings. Only the coordinator has no parent.
[[nodiscard]] constexpr bool are_siblings(std::uint32_t parent, std::uint32_t other_parent) {
  return parent == other_parent && parent != 0;
}

struct DirectoryControl {
  Atomic<std::uint64_t> current;      // epoch << 1 | index of the current buffer
  Atomic<std::uint64_t> agent_count;  // indices below this are or were in use
  std::uint64_t max_payload_bytes;    // of the hive; fixed at creation
  std::uint64_t created_ns;           // CLOCK_REALTIME
  Atomic<std::uint64_t> history;      // HistoryLevel
  std::uint64_t reserved[11];
};
static_assert(sizeof(DirectoryControl) == 128);
static_assert(offsetof(DirectoryControl, history) == 32);

// How much each agent records of its messages (shm/history.h).
enum class HistoryLevel : std::uint64_t { kOff = 0, kHeaders = 1, kPreviews = 2 };

[[nodiscard]] constexpr std::string_view to_string(HistoryLevel level) {
  switch (level) {
    case HistoryLevel::kOff:
      return "off";
    case HistoryLevel::kHeaders:
      return "headers";
    case HistoryLevel::kPreviews:
      return "previews";
  }
  return "unknown";
}

// The level that a word means. An agent does not know a higher one, and records all that it can.
[[nodiscard]] constexpr HistoryLevel history_level(std::uint64_t word) {
  constexpr auto kMost = HistoryLevel::kPreviews;
  return word < static_cast<std::uint64_t>(kMost) ? static_cast<HistoryLevel>(word) : kMost;
}

// The packets that the coordinator has for the agent in a place, whichever of its lives: an agent
// sees with one load that there is something to read. The counts rise as long as the directory
// exists, also when another agent gets the place.
struct PacketCounts {
  Atomic<std::uint64_t> due;    // counted before the coordinator tries to send the packet
  Atomic<std::uint64_t> taken;  // how many of them a socket has taken or lost
};
static_assert(sizeof(PacketCounts) == 16);
static_assert(offsetof(PacketCounts, taken) == 8);

struct DirectoryLayout {
  static constexpr std::uint64_t kControl = sizeof(SegmentHeader);
  static constexpr std::uint64_t kWords = kPage;
  static constexpr std::uint64_t kPackets = kWords + kMaxAgents * 8;
  static constexpr std::uint64_t kRecords0 = kPackets + kMaxAgents * sizeof(PacketCounts);
  static constexpr std::uint64_t kRecordsBytes = kMaxAgents * sizeof(AgentRecord);
  static constexpr std::uint64_t kRecords1 = kRecords0 + kRecordsBytes;
  static constexpr std::uint64_t kBytes = kRecords1 + kRecordsBytes;
  // The first extent: header, control, all agent words and counts. Records follow in steps.
  static constexpr std::uint64_t kFirstExtent = kRecords0;
};
static_assert(DirectoryLayout::kRecords0 % kPage == 0);
static_assert(DirectoryLayout::kBytes == 4096 + 32768 + 65536 + 2 * 524288);

// A view of a mapped directory. Does not own the mapping. Reading is safe from any thread.
class DirectoryView {
 public:
  DirectoryView() = default;
  // REQUIRES: `base` maps DirectoryLayout::kBytes bytes.
  explicit DirectoryView(const std::byte* base) : base_(base) {}

  [[nodiscard]] bool valid() const { return base_ != nullptr; }
  [[nodiscard]] const SegmentHeader& header() const {
    return *reinterpret_cast<const SegmentHeader*>(base_);
  }
  [[nodiscard]] const DirectoryControl& control() const {
    return *reinterpret_cast<const DirectoryControl*>(base_ + DirectoryLayout::kControl);
  }
  [[nodiscard]] const Atomic<std::uint64_t>& word(std::uint32_t index) const {
    BEELINE_DCHECK(index < kMaxAgents, index);
    return reinterpret_cast<const Atomic<std::uint64_t>*>(base_ + DirectoryLayout::kWords)[index];
  }
  // SYNC(directory.word): acquire, pairs with DirectoryWriter::set_word.
  [[nodiscard]] AgentWord agent(std::uint32_t index) const {
    return AgentWord::unpack(word(index).observe());
  }
  [[nodiscard]] const PacketCounts& packets(std::uint32_t index) const {
    BEELINE_DCHECK(index < kMaxAgents, index);
    return reinterpret_cast<const PacketCounts*>(base_ + DirectoryLayout::kPackets)[index];
  }
  // Rises with each round of records. Acquire: a caller that caches agent_count records under this
  // number misses none published before the round.
  [[nodiscard]] std::uint64_t epoch() const { return control().current.observe() >> 1; }
  [[nodiscard]] std::uint32_t agent_count() const {
    const std::uint64_t count = control().agent_count.observe();
    return count < kMaxAgents ? static_cast<std::uint32_t>(count) : kMaxAgents;
  }

  // relaxed: the word stands for itself.
  [[nodiscard]] HistoryLevel history() const {
    return history_level(control().history.relaxed_load());
  }

  // Copies one record from the current buffer. False after `kTries` changes during the copy.
  [[nodiscard]] bool read_record(std::uint32_t index, AgentRecord& out) const {
    constexpr int kTries = 16;
    for (int i = 0; i < kTries; ++i) {
      const std::uint64_t before = control().current.observe();
      const std::uint64_t offset =
          (before & 1) != 0 ? DirectoryLayout::kRecords1 : DirectoryLayout::kRecords0;
      const auto* words = reinterpret_cast<const Atomic<std::uint64_t>*>(
          base_ + offset + index * sizeof(AgentRecord));
      auto* target = reinterpret_cast<unsigned char*>(&out);
      for (std::size_t w = 0; w < sizeof(AgentRecord) / 8; ++w) {
        const std::uint64_t value = words[w].observe();
        std::memcpy(target + 8 * w, &value, 8);
      }
      // The buffer that we copied is rewritten only after `current` has moved on. relaxed: the
      // words were observed, and no later load passes those.
      if (control().current.relaxed_load() == before) return true;
    }
    return false;
  }

 private:
  const std::byte* base_ = nullptr;
};

// The coordinator's side. Does not own the mapping. One thread.
class DirectoryWriter {
 public:
  // REQUIRES: kFirstExtent is allocated.
  DirectoryWriter(std::byte* base, std::uint64_t epoch, std::uint64_t max_payload_bytes,
                  std::uint64_t created_ns)
      : base_(base) {
    auto& header = *reinterpret_cast<SegmentHeader*>(base_);
    init_header(header,
                {SegmentKind::kDirectory, DirectoryLayout::kBytes, 1, 0, Incarnation(epoch), 0});
    add_section(header, SectionKind::kControl, DirectoryLayout::kControl, 1,
                sizeof(DirectoryControl));
    add_section(header, SectionKind::kAgentWords, DirectoryLayout::kWords, kMaxAgents, 8);
    add_section(header, SectionKind::kPackets, DirectoryLayout::kPackets, kMaxAgents,
                sizeof(PacketCounts));
    add_section(header, SectionKind::kRecords, DirectoryLayout::kRecords0, kMaxAgents,
                sizeof(AgentRecord));
    add_section(header, SectionKind::kRecords, DirectoryLayout::kRecords1, kMaxAgents,
                sizeof(AgentRecord));
    control().max_payload_bytes = max_payload_bytes;
    control().created_ns = created_ns;
    control().current.relaxed_store(epoch << 1);  // relaxed: published by `ready`
    header.ready.publish(1);
  }

  // One store: the commit of a hand-over, a death, a start.
  // SYNC(directory.word): release, pairs with DirectoryView::agent.
  void set_word(std::uint32_t index, AgentWord word) {
    reinterpret_cast<Atomic<std::uint64_t>*>(base_ + DirectoryLayout::kWords)[index].publish(
        word.pack());
  }
  [[nodiscard]] PacketCounts& packets(std::uint32_t index) {
    BEELINE_CHECK(index < kMaxAgents, index);
    return reinterpret_cast<PacketCounts*>(base_ + DirectoryLayout::kPackets)[index];
  }
  // relaxed: the word stands for itself.
  void set_history(HistoryLevel level) {
    control().history.relaxed_store(static_cast<std::uint64_t>(level));
  }
  void set_agent_count(std::uint32_t count) { control().agent_count.publish(count); }

  // Writes all records into the other buffer and makes it current.
  // REQUIRES: both buffers are allocated up to `count` records.
  void publish(const AgentRecord* records, std::uint32_t count) {
    BEELINE_CHECK(count <= kMaxAgents, count);
    const std::uint64_t now = control().current.relaxed_load();
    const std::uint64_t offset =
        (now & 1) != 0 ? DirectoryLayout::kRecords0 : DirectoryLayout::kRecords1;
    const std::uint64_t next = ((now >> 1) + 1) << 1 | ((now & 1) ^ 1);
    auto* words = reinterpret_cast<Atomic<std::uint64_t>*>(base_ + offset);
    const auto* source = reinterpret_cast<const unsigned char*>(records);
    for (std::size_t w = 0; w < count * sizeof(AgentRecord) / 8; ++w) {
      std::uint64_t value;
      std::memcpy(&value, source + 8 * w, 8);
      // SUBTLE: publish and not relaxed_store. A reader of the previous round may still be copying
      // this buffer; its second look at `current` must see the change before it sees these words.
      words[w].publish(value);
    }
    control().current.publish(next);
  }

  [[nodiscard]] DirectoryView view() const { return DirectoryView(base_); }

 private:
  DirectoryControl& control() {
    return *reinterpret_cast<DirectoryControl*>(base_ + DirectoryLayout::kControl);
  }
  std::byte* base_;
};

}  // namespace beeline::shm
