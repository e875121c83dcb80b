#include <array>
#include <cstddef>
#include <iterator>

#include <fmt/format.h>

#include "shm/directory.h"
#include "shm/history.h"
#include "shm/home.h"
#include "shm/link.h"
#include "shm/status.h"
#include "shm/strings.h"
#include "shm/task_form.h"
#include "tools/shm_dump/dump.h"

namespace beeline::dump {
namespace {

struct Field {
  const char* name;
  std::size_t offset;
  std::size_t size;
};

struct Constant {
  const char* name;
  std::uint64_t value;
};

// A constant is a number or a strong id.
template <typename T>
[[nodiscard]] constexpr std::uint64_t number_of(const T& constant) {
  if constexpr (std::is_class_v<T>) {
    return constant.value();
  } else {
    return static_cast<std::uint64_t>(constant);
  }
}

// The name, offset and size of a field; only a macro can spell all three from one word.
#define BEELINE_FIELD(Struct, field) \
  Field { #field, offsetof(shm::Struct, field), sizeof(shm::Struct::field) }
#define BEELINE_CONSTANT(name) \
  Constant { #name, number_of(shm::name) }

void add_struct(std::string& out, const char* name, std::size_t size,
                std::initializer_list<Field> fields) {
  fmt::format_to(std::back_inserter(out), "struct {} {}\n", name, size);
  for (const Field& field : fields) {
    fmt::format_to(std::back_inserter(out), "  {:>6} {:>5} {}\n", field.offset, field.size,
                   field.name);
  }
}

void add_constants(std::string& out, std::initializer_list<Constant> constants) {
  for (const Constant& constant : constants) {
    fmt::format_to(std::back_inserter(out), "constant {} {}\n", constant.name, constant.value);
  }
}

void add_numbers(std::string& out) {
  fmt::format_to(std::back_inserter(out), "magic {:016x}\nlayout {}.{}\n", shm::kMagic,
                 shm::kLayoutMajor, shm::kLayoutMinor);
  add_constants(out, {BEELINE_CONSTANT(kPage),
                      BEELINE_CONSTANT(kMaxPid),
                      BEELINE_CONSTANT(kMaxIncarnation),
                      BEELINE_CONSTANT(kMessageCounterBits),
                      BEELINE_CONSTANT(kMaxSections),
                      BEELINE_CONSTANT(kInlineBytes),
                      BEELINE_CONSTANT(kNoSlab),
                      BEELINE_CONSTANT(kFlagSlab),
                      BEELINE_CONSTANT(kFlagRequiresAck),
                      BEELINE_CONSTANT(kFlagExtended),
                      BEELINE_CONSTANT(kFlagCopy),
                      BEELINE_CONSTANT(kFlagCut),
                      BEELINE_CONSTANT(kFlagAck),
                      BEELINE_CONSTANT(kFlagControl),
                      BEELINE_CONSTANT(kFlagUnasked),
                      BEELINE_CONSTANT(kFlagUrgentLane),
                      BEELINE_CONSTANT(kFlagMatched),
                      BEELINE_CONSTANT(kFlagStashed),
                      BEELINE_CONSTANT(kFlagRevived),
                      BEELINE_CONSTANT(kReasonShift),
                      BEELINE_CONSTANT(kSlabClasses),
                      BEELINE_CONSTANT(kMaxSlabs),
                      BEELINE_CONSTANT(kBanks),
                      BEELINE_CONSTANT(kMaxStrings),
                      BEELINE_CONSTANT(kCarriedText),
                      BEELINE_CONSTANT(kCarriedBytes),
                      BEELINE_CONSTANT(kStringBytes),
                      BEELINE_CONSTANT(kMaxLaneSlots),
                      BEELINE_CONSTANT(kMinMaxPayload),
                      BEELINE_CONSTANT(kMaxMaxPayload),
                      BEELINE_CONSTANT(kMaxRows),
                      BEELINE_CONSTANT(kMaxEntries),
                      BEELINE_CONSTANT(kMinInboxCapacity),
                      BEELINE_CONSTANT(kEntryBits),
                      BEELINE_CONSTANT(kNoEntry),
                      BEELINE_CONSTANT(kNoRow),
                      BEELINE_CONSTANT(kMaxAgents),
                      BEELINE_CONSTANT(kNameBytes),
                      BEELINE_CONSTANT(kRecordTemporary),
                      BEELINE_CONSTANT(kHistoryRowCount),
                      BEELINE_CONSTANT(kHistoryTypeBytes),
                      BEELINE_CONSTANT(kPreviewBytes),
                      BEELINE_CONSTANT(kHistoryNameBytes),
                      BEELINE_CONSTANT(kStatusBytes)});
}

template <typename Enum, std::size_t kCount>
void add_enum(std::string& out, const char* name, const std::array<Enum, kCount>& values) {
  fmt::format_to(std::back_inserter(out), "enum {} {}\n", name, sizeof(Enum));
  for (const Enum value : values) {
    fmt::format_to(std::back_inserter(out), "  {} {}\n", static_cast<std::uint64_t>(value),
                   to_string(value));
  }
}

void add_enums(std::string& out) {
  using shm::AgentState;
  using shm::DeadReason;
  using shm::EntryState;
  using shm::SegmentKind;
  add_enum(out, "SegmentKind",
           std::array{SegmentKind::kNone, SegmentKind::kHome, SegmentKind::kStatus,
                      SegmentKind::kLink, SegmentKind::kDirectory, SegmentKind::kHistory});
  add_enum(out, "AgentState",
           std::array{AgentState::kVacant, AgentState::kStarting, AgentState::kRunning,
                      AgentState::kAway, AgentState::kDead});
  add_enum(
      out, "EntryState",
      std::array{EntryState::kFree, EntryState::kQueued, EntryState::kLeased, EntryState::kDead});
  add_enum(out, "DeadReason",
           std::array{DeadReason::kNone, DeadReason::kRejected, DeadReason::kExpired,
                      DeadReason::kExhausted, DeadReason::kReceiverDead, DeadReason::kRevoked,
                      DeadReason::kLoop, DeadReason::kUnclaimed, DeadReason::kCancelled});
  using shm::HistoryEvent;
  add_enum(out, "HistoryEvent",
           std::array{HistoryEvent::kNone, HistoryEvent::kSent, HistoryEvent::kTaken,
                      HistoryEvent::kDone, HistoryEvent::kRequeued, HistoryEvent::kRejected,
                      HistoryEvent::kExpired, HistoryEvent::kEscalated, HistoryEvent::kDead});
  using shm::MessageKind;
  add_enum(out, "MessageKind",
           std::array{MessageKind::kOrdinary, MessageKind::kTask, MessageKind::kTaskUpdate,
                      MessageKind::kTaskLog});
  using shm::TaskForm;
  add_enum(out, "TaskForm", std::array{TaskForm::kTask, TaskForm::kResult, TaskForm::kFailure});
}

void add_header(std::string& out) {
  add_struct(out, "Section", sizeof(shm::Section),
             {BEELINE_FIELD(Section, kind), BEELINE_FIELD(Section, stride),
              BEELINE_FIELD(Section, offset), BEELINE_FIELD(Section, count)});
  add_struct(out, "SegmentHeader", sizeof(shm::SegmentHeader),
             {BEELINE_FIELD(SegmentHeader, magic), BEELINE_FIELD(SegmentHeader, layout_major),
              BEELINE_FIELD(SegmentHeader, layout_minor), BEELINE_FIELD(SegmentHeader, kind),
              BEELINE_FIELD(SegmentHeader, size_bytes), BEELINE_FIELD(SegmentHeader, owner_pid),
              BEELINE_FIELD(SegmentHeader, peer_pid),
              BEELINE_FIELD(SegmentHeader, owner_incarnation), BEELINE_FIELD(SegmentHeader, serial),
              BEELINE_FIELD(SegmentHeader, section_count), BEELINE_FIELD(SegmentHeader, ready),
              BEELINE_FIELD(SegmentHeader, reserved), BEELINE_FIELD(SegmentHeader, sections)});
}

void add_link_structs(std::string& out) {
  add_struct(out, "MessageHeader", sizeof(shm::MessageHeader),
             {BEELINE_FIELD(MessageHeader, id), BEELINE_FIELD(MessageHeader, reply_to),
              BEELINE_FIELD(MessageHeader, sent_ns), BEELINE_FIELD(MessageHeader, ttl_ms),
              BEELINE_FIELD(MessageHeader, rank), BEELINE_FIELD(MessageHeader, length),
              BEELINE_FIELD(MessageHeader, type), BEELINE_FIELD(MessageHeader, channel),
              BEELINE_FIELD(MessageHeader, flags), BEELINE_FIELD(MessageHeader, hops),
              BEELINE_FIELD(MessageHeader, slab)});
  add_struct(out, "Extension", sizeof(shm::Extension),
             {BEELINE_FIELD(Extension, cause), BEELINE_FIELD(Extension, addressee),
              BEELINE_FIELD(Extension, full_length), BEELINE_FIELD(Extension, trace),
              BEELINE_FIELD(Extension, ack), BEELINE_FIELD(Extension, kind),
              BEELINE_FIELD(Extension, reserved)});
  add_struct(out, "TaskHead", sizeof(shm::TaskHead),
             {BEELINE_FIELD(TaskHead, form), BEELINE_FIELD(TaskHead, number),
              BEELINE_FIELD(TaskHead, timeout_ms), BEELINE_FIELD(TaskHead, texts),
              BEELINE_FIELD(TaskHead, pairs), BEELINE_FIELD(TaskHead, reserved)});
  add_struct(out, "Slot", sizeof(shm::Slot),
             {BEELINE_FIELD(Slot, commit), BEELINE_FIELD(Slot, header),
              BEELINE_FIELD(Slot, generation), BEELINE_FIELD(Slot, payload)});
  add_struct(out, "LinkControl", sizeof(shm::LinkControl),
             {BEELINE_FIELD(LinkControl, space), BEELINE_FIELD(LinkControl, string_count),
              BEELINE_FIELD(LinkControl, watching), BEELINE_FIELD(LinkControl, slabs_allocated),
              BEELINE_FIELD(LinkControl, reserved0), BEELINE_FIELD(LinkControl, reserved)});
  add_struct(out, "ReceiptBank", sizeof(shm::ReceiptBank),
             {BEELINE_FIELD(ReceiptBank, incarnation), BEELINE_FIELD(ReceiptBank, serial),
              BEELINE_FIELD(ReceiptBank, stamps_ready), BEELINE_FIELD(ReceiptBank, cursors),
              BEELINE_FIELD(ReceiptBank, reserved)});
  add_struct(out, "StringCopy", sizeof(shm::StringCopy),
             {BEELINE_FIELD(StringCopy, length), BEELINE_FIELD(StringCopy, text)});
}

void add_home_structs(std::string& out) {
  add_struct(out, "InRow", sizeof(shm::InRow),
             {BEELINE_FIELD(InRow, incarnation), BEELINE_FIELD(InRow, cursors),
              BEELINE_FIELD(InRow, serial), BEELINE_FIELD(InRow, owner_pid),
              BEELINE_FIELD(InRow, retired), BEELINE_FIELD(InRow, seen_empty_ns),
              BEELINE_FIELD(InRow, known_since_ns), BEELINE_FIELD(InRow, reserved)});
  add_struct(
      out, "Entry", sizeof(shm::Entry),
      {BEELINE_FIELD(Entry, state), BEELINE_FIELD(Entry, arrival), BEELINE_FIELD(Entry, header),
       BEELINE_FIELD(Entry, payload), BEELINE_FIELD(Entry, generation)});
  add_struct(out, "IndexNode", sizeof(shm::IndexNode),
             {BEELINE_FIELD(IndexNode, key), BEELINE_FIELD(IndexNode, order)});
  add_struct(out, "IndexControl", sizeof(shm::IndexControl),
             {BEELINE_FIELD(IndexControl, run_head), BEELINE_FIELD(IndexControl, run_tail),
              BEELINE_FIELD(IndexControl, heap_count), BEELINE_FIELD(IndexControl, size)});
  add_struct(
      out, "InboxCounters", sizeof(shm::InboxCounters),
      {BEELINE_FIELD(InboxCounters, done), BEELINE_FIELD(InboxCounters, purged),
       BEELINE_FIELD(InboxCounters, dead), BEELINE_FIELD(InboxCounters, requeued),
       BEELINE_FIELD(InboxCounters, rejected), BEELINE_FIELD(InboxCounters, expired),
       BEELINE_FIELD(InboxCounters, exhausted), BEELINE_FIELD(InboxCounters, bad_slots),
       BEELINE_FIELD(InboxCounters, late_replies), BEELINE_FIELD(InboxCounters, copies_dropped),
       BEELINE_FIELD(InboxCounters, reserved)});
  add_struct(
      out, "HomeControl", sizeof(shm::HomeControl),
      {BEELINE_FIELD(HomeControl, policy), BEELINE_FIELD(HomeControl, capacity),
       BEELINE_FIELD(HomeControl, critical_reserve), BEELINE_FIELD(HomeControl, max_attempts),
       BEELINE_FIELD(HomeControl, rank_step_us), BEELINE_FIELD(HomeControl, next_arrival),
       BEELINE_FIELD(HomeControl, predecessor), BEELINE_FIELD(HomeControl, reserved_ids),
       BEELINE_FIELD(HomeControl, retired), BEELINE_FIELD(HomeControl, all_empty_ns),
       BEELINE_FIELD(HomeControl, rows_allocated), BEELINE_FIELD(HomeControl, entries_allocated),
       BEELINE_FIELD(HomeControl, rank_rule), BEELINE_FIELD(HomeControl, max_hops),
       BEELINE_FIELD(HomeControl, reserved1), BEELINE_FIELD(HomeControl, counters),
       BEELINE_FIELD(HomeControl, index), BEELINE_FIELD(HomeControl, reserved2)});
}

void add_public_structs(std::string& out) {
  add_struct(
      out, "StatusPage", sizeof(shm::StatusPage),
      {BEELINE_FIELD(StatusPage, header), BEELINE_FIELD(StatusPage, sleep),
       BEELINE_FIELD(StatusPage, reserved_sleep), BEELINE_FIELD(StatusPage, queued),
       BEELINE_FIELD(StatusPage, capacity), BEELINE_FIELD(StatusPage, critical_queued),
       BEELINE_FIELD(StatusPage, activity), BEELINE_FIELD(StatusPage, sleeps),
       BEELINE_FIELD(StatusPage, reserved_counters), BEELINE_FIELD(StatusPage, reserved_page)});
  add_struct(
      out, "DirectoryControl", sizeof(shm::DirectoryControl),
      {BEELINE_FIELD(DirectoryControl, current), BEELINE_FIELD(DirectoryControl, agent_count),
       BEELINE_FIELD(DirectoryControl, max_payload_bytes),
       BEELINE_FIELD(DirectoryControl, created_ns), BEELINE_FIELD(DirectoryControl, history),
       BEELINE_FIELD(DirectoryControl, reserved)});
  add_struct(out, "PacketCounts", sizeof(shm::PacketCounts),
             {BEELINE_FIELD(PacketCounts, due), BEELINE_FIELD(PacketCounts, taken)});
  add_struct(out, "AgentRecord", sizeof(shm::AgentRecord),
             {BEELINE_FIELD(AgentRecord, pid), BEELINE_FIELD(AgentRecord, parent_pid),
              BEELINE_FIELD(AgentRecord, role), BEELINE_FIELD(AgentRecord, flags),
              BEELINE_FIELD(AgentRecord, os_pid), BEELINE_FIELD(AgentRecord, uid),
              BEELINE_FIELD(AgentRecord, attached_ns), BEELINE_FIELD(AgentRecord, restarts),
              BEELINE_FIELD(AgentRecord, reserved2), BEELINE_FIELD(AgentRecord, name)});
}

void add_history_structs(std::string& out) {
  add_struct(out, "HistoryRow", sizeof(shm::HistoryRow),
             {BEELINE_FIELD(HistoryRow, place), BEELINE_FIELD(HistoryRow, id),
              BEELINE_FIELD(HistoryRow, cause), BEELINE_FIELD(HistoryRow, reply_to),
              BEELINE_FIELD(HistoryRow, at_ns), BEELINE_FIELD(HistoryRow, trace),
              BEELINE_FIELD(HistoryRow, event), BEELINE_FIELD(HistoryRow, reason),
              BEELINE_FIELD(HistoryRow, type_length), BEELINE_FIELD(HistoryRow, length),
              BEELINE_FIELD(HistoryRow, rank), BEELINE_FIELD(HistoryRow, peer),
              BEELINE_FIELD(HistoryRow, preview_length), BEELINE_FIELD(HistoryRow, flags),
              BEELINE_FIELD(HistoryRow, reserved0), BEELINE_FIELD(HistoryRow, type),
              BEELINE_FIELD(HistoryRow, reserved1)});
  add_struct(out, "RingHead", sizeof(shm::RingHead),
             {BEELINE_FIELD(RingHead, head), BEELINE_FIELD(RingHead, reserved)});
  add_struct(out, "HistoryControl", sizeof(shm::HistoryControl),
             {BEELINE_FIELD(HistoryControl, name), BEELINE_FIELD(HistoryControl, reserved),
              BEELINE_FIELD(HistoryControl, rings)});
}

#undef BEELINE_FIELD
#undef BEELINE_CONSTANT

void add_places(std::string& out, const char* what, std::initializer_list<Constant> places) {
  fmt::format_to(std::back_inserter(out), "layout of {}\n", what);
  for (const Constant& place : places) {
    fmt::format_to(std::back_inserter(out), "  {:>12} {}\n", place.value, place.name);
  }
}

void add_layouts(std::string& out) {
  const shm::LinkLayout link(shm::LinkContract{});
  add_places(out, "a link with the default contract",
             {{"control", link.control},
              {"banks", link.banks},
              {"urgent", link.urgent},
              {"normal", link.normal},
              {"strings", link.strings},
              {"stamps", link.stamps},
              {"first_extent", link.first_extent},
              {"bytes", link.bytes}});
  for (std::size_t i = 0; i < shm::kSlabClasses; ++i) {
    fmt::format_to(std::back_inserter(out), "  {:>12} slabs[{}] first {} count {} bytes {}\n",
                   link.slabs[i], i, link.classes[i].first, link.classes[i].count,
                   link.classes[i].slab_bytes);
  }
  const shm::HomeLayout home(4096);
  add_places(out, "a home of 4096 entries",
             {{"control", home.control},
              {"rows", home.rows},
              {"entries", home.entries},
              {"run", home.run},
              {"heap", home.heap},
              {"bytes", home.bytes}});
  using Directory = shm::DirectoryLayout;
  add_places(out, "a directory",
             {{"control", Directory::kControl},
              {"words", Directory::kWords},
              {"packets", Directory::kPackets},
              {"records0", Directory::kRecords0},
              {"records1", Directory::kRecords1},
              {"first_extent", Directory::kFirstExtent},
              {"bytes", Directory::kBytes}});
  using History = shm::HistoryLayout;
  using enum shm::HistoryRing;
  add_places(out, "a history",
             {{"control", History::kControl},
              {"rows0", History::rows_of(kSend)},
              {"rows1", History::rows_of(kOwn)},
              {"previews0", History::previews_of(kSend)},
              {"previews1", History::previews_of(kOwn)},
              {"first_extent", History::kFirstExtent},
              {"bytes", History::kBytes}});
}

}  // namespace

std::string layout_text() {
  std::string out =
      "# Golden layout of the segments: what `shm-dump --layout` prints. Each field: offset, "
      "bytes,\n"
      "# name. A change of anything here needs a new layout version in shm/segment.h.\n";
  add_numbers(out);
  add_enums(out);
  add_header(out);
  add_link_structs(out);
  add_home_structs(out);
  add_public_structs(out);
  add_history_structs(out);
  add_layouts(out);
  return out;
}

}  // namespace beeline::dump
