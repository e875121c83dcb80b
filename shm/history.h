#pragma once
// The history of one life of an agent: the ends of its messages, for people and tools.
//
//   header | control: name, two rings' heads | rows of ring 0 | rows of ring 1
//   previews of ring 0 | previews of ring 1
//
// Written by: its agent alone; ring 0 (kSendRing) under the send lock, ring 1 (kOwnRing) by the
// agent's own thread. Read by: tools, also after the agent's end. Nobody in the agent reads it
// back.
// A row is written so: 0 into its place, then all other words, each a release, so a reader that
// sees a new word sees the 0 before it, too. Then position + 1 into its place, then the head of the
// ring. The reader looks at no row above the head. It copies a row between two loads of its place;
// if one of them is not the position that the reader wants, the row was written over meanwhile, and
// the reader counts it as lost. No reader is in the writer's way. A writer that is killed at any
// instruction leaves all rows below the head whole, but the oldest one, which it may have been
// writing over. Zero means: never written.

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <span>
#include <string_view>

#include "shm/extension.h"
#include "shm/segment.h"
#include "shm/strings.h"
#include "shm/words.h"

namespace beeline::shm {

inline constexpr std::uint32_t kHistoryRowCount = 1024;  // of each ring; a power of two
inline constexpr std::size_t kHistoryTypeBytes = 32;     // one more than any type has
inline constexpr std::size_t kPreviewBytes = 200;
inline constexpr std::size_t kHistoryNameBytes = 64;
inline constexpr std::size_t kHistoryRings = 2;

enum class HistoryRing : std::uint32_t { kSend = 0, kOwn = 1 };

// The fate of the message that a row tells.
enum class HistoryEvent : std::uint8_t {
  kNone = 0,
  kSent = 1,
  kTaken = 2,
  kDone = 3,
  kRequeued = 4,
  kRejected = 5,
  kExpired = 6,
  kEscalated = 7,
  kDead = 8,  // a dead letter for another reason
};
inline constexpr auto kLastHistoryEvent = HistoryEvent::kDead;

[[nodiscard]] constexpr std::string_view to_string(HistoryEvent event) {
  switch (event) {
    case HistoryEvent::kNone:
      return "none";
    case HistoryEvent::kSent:
      return "sent";
    case HistoryEvent::kTaken:
      return "taken";
    case HistoryEvent::kDone:
      return "done";
    case HistoryEvent::kRequeued:
      return "requeued";
    case HistoryEvent::kRejected:
      return "rejected";
    case HistoryEvent::kExpired:
      return "expired";
    case HistoryEvent::kEscalated:
      return "escalated";
    case HistoryEvent::kDead:
      return "dead";
  }
  return "unknown";
}

struct HistoryRow {
  std::uint64_t place;  // position + 1 of a row that is whole; stored first as 0, and last
  std::uint64_t id;
  std::uint64_t cause;     // as Extension::cause; 0: none
  std::uint64_t reply_to;  // 0: no answer
  std::int64_t at_ns;      // CLOCK_MONOTONIC_COARSE
  unsigned char trace[kTraceBytes];
  std::uint8_t event;        // HistoryEvent
  std::uint8_t reason;       // DeadReason of a dead letter
  std::uint8_t type_length;  // bytes of `type`
  std::uint32_t length;      // bytes of the payload
  // SUBTLE: not beside `length`, as in MessageHeader: a compiler would load both at once there,
  // across two words that were stored one by one (docs/cache-lines.md, Store forwarding).
  std::int32_t rank;
  std::uint32_t peer;            // sent: pid of the receiver; otherwise of the sender
  std::uint16_t preview_length;  // bytes in the preview of this row; 0: none was taken
  std::uint16_t flags;           // as MessageHeader::flags
  std::uint32_t reserved0;
  char type[kHistoryTypeBytes];
  std::uint64_t reserved1;
};
static_assert(sizeof(HistoryRow) == kLinePair);
static_assert(offsetof(HistoryRow, at_ns) == 32);
static_assert(offsetof(HistoryRow, event) == 65);
static_assert(offsetof(HistoryRow, length) == 68);
static_assert(offsetof(HistoryRow, rank) == 72);
static_assert(offsetof(HistoryRow, preview_length) == 80);
static_assert(offsetof(HistoryRow, type) == 88);
static_assert(std::endian::native == std::endian::little);

// A type as whole words, zeros behind it.
struct TypeWords {
  std::uint64_t words[kHistoryTypeBytes / 8]{};
  std::uint64_t length = 0;
};

// Up to eight bytes as a word, by loads that are no wider than the text.
// SUBTLE: a copy of the text beside zeros would be loaded wider than it was stored
// (docs/cache-lines.md, Store forwarding).
[[nodiscard]] inline std::uint64_t word_of_bytes(const char* from, std::size_t bytes) {
  const auto load = [from]<typename T>(std::size_t at, T value) {
    std::memcpy(&value, from + at, sizeof(value));
    return std::uint64_t{value};
  };
  if (bytes >= 8) return load(0, std::uint64_t{});
  if (bytes >= 4) {
    return load(0, std::uint32_t{}) | load(bytes - 4, std::uint32_t{}) << 8 * (bytes - 4);
  }
  if (bytes == 0) return 0;
  const std::size_t middle = bytes / 2;
  return load(0, std::uint8_t{}) | load(middle, std::uint8_t{}) << 8 * middle |
         load(bytes - 1, std::uint8_t{}) << 8 * (bytes - 1);
}

[[nodiscard]] inline TypeWords type_words(std::string_view type) {
  TypeWords out;
  out.length = std::min(type.size(), kHistoryTypeBytes - 1);
  for (std::size_t at = 0; at < out.length; at += 8) {
    out.words[at / 8] = word_of_bytes(type.data() + at, std::min<std::size_t>(8, out.length - at));
  }
  return out;
}

// The same of a string of a link, which has its length in its first byte.
[[nodiscard]] inline TypeWords type_words(const StringCopy& type) {
  static_assert(offsetof(StringCopy, text) == 1 && sizeof(StringCopy) == kHistoryTypeBytes);
  std::uint64_t from[kHistoryTypeBytes / 8];
  std::memcpy(from, &type, sizeof(from));
  TypeWords out;
  out.length = type.length;
  for (std::size_t i = 0; i < std::size(from); ++i) {
    out.words[i] = from[i] >> 8 | (i + 1 < std::size(from) ? from[i + 1] << 56 : 0);
  }
  return out;
}

// The fields of a row as its writer has them.
struct HistoryNote {
  HistoryEvent event = HistoryEvent::kNone;
  std::uint8_t reason = 0;
  std::uint64_t id = 0;
  std::uint64_t cause = 0;
  std::uint64_t reply_to = 0;
  std::int64_t at_ns = 0;
  std::uint32_t peer = 0;
  std::int32_t rank = 0;
  std::uint32_t length = 0;
  std::uint16_t flags = 0;
  const unsigned char* trace = nullptr;  // kTraceBytes; null: none
  TypeWords type{};
};

struct RingHead {
  Atomic<std::uint64_t> head;  // rows ever written; only rises
  std::uint64_t reserved[15];
};
static_assert(sizeof(RingHead) == kLinePair);

struct HistoryControl {
  char name[kHistoryNameBytes];  // of the agent; UTF-8, zero-terminated unless 64 bytes long
  std::uint64_t reserved[8];
  RingHead rings[kHistoryRings];
};
static_assert(sizeof(HistoryControl) == 384);
static_assert(offsetof(HistoryControl, rings) == 128);

struct HistoryLayout {
  static constexpr std::uint64_t kControl = sizeof(SegmentHeader);
  static constexpr std::uint64_t kRowsBytes = kHistoryRowCount * sizeof(HistoryRow);
  static constexpr std::uint64_t kPreviewsBytes = kHistoryRowCount * kPreviewBytes;
  static constexpr std::uint64_t kRows = kPage;
  static constexpr std::uint64_t kPreviews = kRows + kHistoryRings * kRowsBytes;
  static constexpr std::uint64_t kBytes = kPreviews + kHistoryRings * kPreviewsBytes;
  static constexpr std::uint64_t kFirstExtent = kPage;

  [[nodiscard]] static constexpr std::uint64_t rows_of(HistoryRing ring) {
    return kRows + static_cast<std::uint64_t>(ring) * kRowsBytes;
  }
  [[nodiscard]] static constexpr std::uint64_t previews_of(HistoryRing ring) {
    return kPreviews + static_cast<std::uint64_t>(ring) * kPreviewsBytes;
  }
  [[nodiscard]] static constexpr std::uint64_t row_of(HistoryRing ring, std::uint64_t position) {
    return rows_of(ring) + position % kHistoryRowCount * sizeof(HistoryRow);
  }
  [[nodiscard]] static constexpr std::uint64_t preview_of(HistoryRing ring,
                                                          std::uint64_t position) {
    return previews_of(ring) + position % kHistoryRowCount * kPreviewBytes;
  }
};
static_assert(HistoryLayout::kPreviews % kPage == 0);
static_assert(HistoryLayout::kBytes % kPage == 0);
static_assert(kPreviewBytes % 8 == 0);

[[nodiscard]] constexpr SegmentIdentity history_identity(std::uint32_t pid,
                                                         Incarnation incarnation) {
  return {SegmentKind::kHistory, HistoryLayout::kBytes, pid, 0, incarnation, 0};
}

// REQUIRES: kFirstExtent is allocated and zero.
inline void init_history(std::byte* base, std::string_view name, std::uint32_t pid,
                         Incarnation incarnation) {
  auto& header = *reinterpret_cast<SegmentHeader*>(base);
  init_header(header, history_identity(pid, incarnation));
  add_section(header, SectionKind::kControl, HistoryLayout::kControl, 1, sizeof(HistoryControl));
  for (const HistoryRing ring : {HistoryRing::kSend, HistoryRing::kOwn}) {
    add_section(header, SectionKind::kHistoryRows, HistoryLayout::rows_of(ring), kHistoryRowCount,
                sizeof(HistoryRow));
  }
  for (const HistoryRing ring : {HistoryRing::kSend, HistoryRing::kOwn}) {
    add_section(header, SectionKind::kPreviews, HistoryLayout::previews_of(ring), kHistoryRowCount,
                kPreviewBytes);
  }
  auto& control = *reinterpret_cast<HistoryControl*>(base + HistoryLayout::kControl);
  (void)name.copy(control.name, kHistoryNameBytes);
  // SYNC(segment.ready): everything above is visible to a reader that sees ready.
  header.ready.publish(1);
}

// The writer of one ring. Does not own the mapping. One thread at a time.
class HistoryWriter {
 public:
  HistoryWriter() = default;
  // REQUIRES: so many rows were written before, or the ring is empty.
  HistoryWriter(std::byte* base, HistoryRing ring, std::uint64_t position = 0)
      : base_(base), ring_(ring), position_(position) {}

  [[nodiscard]] HistoryRing ring() const { return ring_; }
  // The position of the next row: as many were written.
  [[nodiscard]] std::uint64_t position() const { return position_; }

  // Writes the next row; `preview` is cut to kPreviewBytes. REQUIRES: the memory of that row, and
  // of its preview unless that is empty, is allocated.
  void write(const HistoryNote& note, std::span<const std::byte> preview) {
    begin();
    finish(note, put_preview(preview));
  }

  // The same in steps, for a writer that has a preview seldom.
  void begin() {
    row_at(position_)[0].relaxed_store(0);  // relaxed: each word that follows is a release
  }
  // Returns how many bytes it has stored.
  [[nodiscard]] std::size_t put_preview(std::span<const std::byte> preview) {
    const std::size_t shown = std::min(preview.size(), kPreviewBytes);
    const auto* const from = reinterpret_cast<const char*>(preview.data());
    auto* const words = words_at(HistoryLayout::preview_of(ring_, position_));
    for (std::size_t at = 0; at < shown; at += 8) {
      put(words[at / 8], word_of_bytes(from + at, std::min<std::size_t>(8, shown - at)));
    }
    return shown;
  }
  // SUBTLE: whole words, composed in registers (docs/cache-lines.md, Store forwarding).
  [[gnu::always_inline]] void finish(const HistoryNote& note, std::size_t shown) {
    const std::uint64_t position = position_;  // in a register, whatever is stored meanwhile
    auto* const words = row_at(position);
    put(words[1], note.id);
    put(words[2], note.cause);
    put(words[3], note.reply_to);
    put(words[4], static_cast<std::uint64_t>(note.at_ns));
    std::uint64_t last = 0;
    if (note.trace == nullptr) [[likely]] {
      for (std::size_t i = 5; i < 8; ++i) put(words[i], 0);
    } else {
      last = put_trace(words, note.trace);
    }
    put(words[8], last | static_cast<std::uint64_t>(note.event) << 8 |
                      std::uint64_t{note.reason} << 16 | note.type.length << 24 |
                      std::uint64_t{note.length} << 32);
    put(words[9], static_cast<std::uint32_t>(note.rank) | std::uint64_t{note.peer} << 32);
    put(words[10], shown | std::uint64_t{note.flags} << 16);
    put(words[11], note.type.words[0]);
    put(words[12], note.type.words[1]);
    put(words[13], note.type.words[2]);
    put(words[14], note.type.words[3]);
    put(words[15], 0);
    words[0].relaxed_store(position + 1);  // relaxed: published by the head
    position_ = position + 1;
    // SYNC(history.head): pairs with HistoryReader::next.
    rings()[static_cast<std::size_t>(ring_)].head.publish(position + 1);
    prefetch_for_write(row_at(position + 1));
  }

 private:
  [[nodiscard]] Atomic<std::uint64_t>* words_at(std::uint64_t offset) const {
    return reinterpret_cast<Atomic<std::uint64_t>*>(base_ + offset);
  }
  [[nodiscard]] RingHead* rings() const {
    return reinterpret_cast<HistoryControl*>(base_ + HistoryLayout::kControl)->rings;
  }
  [[nodiscard]] Atomic<std::uint64_t>* row_at(std::uint64_t position) const {
    return words_at(HistoryLayout::row_of(ring_, position));
  }
  // SYNC(history.row): a release. A reader that sees one of the words of a row or of its preview
  // sees that the place of the row was cleared before.
  [[gnu::always_inline]] static void put(Atomic<std::uint64_t>& word, std::uint64_t value) {
    word.publish(value);
  }
  // Returns its last byte, which shares a word with other fields.
  [[nodiscard]] static std::uint64_t put_trace(Atomic<std::uint64_t>* words,
                                               const unsigned char* trace) {
    for (std::size_t i = 0; i < 3; ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, trace + 8 * i, 8);
      put(words[5 + i], word);
    }
    return trace[kTraceBytes - 1];
  }

  std::byte* base_ = nullptr;
  HistoryRing ring_ = HistoryRing::kSend;
  std::uint64_t position_ = 0;
};

// A copy of a row, or word of rows that were written over before they could be read.
struct HistoryItem {
  std::uint64_t lost = 0;  // rows lost before this one
  bool has_row = false;
  HistoryRow row{};
  unsigned char preview[kPreviewBytes]{};

  [[nodiscard]] std::string_view type() const {
    return {row.type, std::min<std::size_t>(row.type_length, kHistoryTypeBytes)};
  }
  [[nodiscard]] std::string_view shown() const {
    return {reinterpret_cast<const char*>(preview),
            std::min<std::size_t>(row.preview_length, kPreviewBytes)};
  }
  // An owner that lies may have written any number.
  [[nodiscard]] HistoryEvent event() const { return static_cast<HistoryEvent>(row.event); }
};

// Reads one ring from outside, in order, also while it is written. The bytes may be hostile: each
// word is loaded once, and no call looks at more rows than a ring has. Does not own the mapping.
class HistoryReader {
 public:
  // The memory of all rows is there.
  HistoryReader(const std::byte* base, HistoryRing ring)
      : HistoryReader(base, ring, kHistoryRowCount, kHistoryRowCount) {}
  // The memory of the first `rows` rows is there, and of so many previews. No other memory is
  // touched, whatever the head and the rows say.
  HistoryReader(const std::byte* base, HistoryRing ring, std::uint32_t rows, std::uint32_t previews)
      : base_(base), ring_(ring), rows_(rows), previews_(previews) {}

  [[nodiscard]] HistoryRing ring() const { return ring_; }
  // How many rows of the ring were written, at most as many as it has.
  [[nodiscard]] std::uint32_t used() const {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(head_now(), kHistoryRowCount));
  }
  // The memory of so many rows and previews was found to be there meanwhile.
  void show(std::uint32_t rows, std::uint32_t previews) {
    rows_ = rows;
    previews_ = previews;
  }
  [[nodiscard]] std::uint32_t rows() const { return rows_; }
  [[nodiscard]] std::uint32_t previews() const { return previews_; }
  // Its head has fallen: a lie of its owner.
  [[nodiscard]] bool has_fallen() const { return has_fallen_; }

  // The next row that is there, with the number of rows lost before it; or that number alone, where
  // none of the lost ones has a successor yet. False: there is nothing new.
  [[nodiscard]] bool next(HistoryItem& out) {
    std::uint64_t head = head_now();
    out.lost = 0;
    out.has_row = false;
    if (head < next_) has_fallen_ = true;
    if (rows_ < kHistoryRowCount) head = std::min<std::uint64_t>(head, rows_);
    if (head <= next_) {
      next_ = head;
      return false;
    }
    if (head - next_ > kHistoryRowCount) {
      out.lost = head - kHistoryRowCount - next_;
      next_ = head - kHistoryRowCount;
    }
    while (next_ != head) {
      out.has_row = copy(next_++, out);
      if (out.has_row) return true;
      ++out.lost;
    }
    return true;
  }

  // Leaves out all rows that are there.
  void skip_all() { next_ = head_now(); }

  // Copies the row of a position, with its preview if the memory of that is there. False: the row
  // was written over. REQUIRES: it was seen to lie below the head, and its memory is there.
  [[nodiscard]] bool copy(std::uint64_t position, HistoryItem& out) const {
    const auto* const words = words_at(HistoryLayout::row_of(ring_, position));
    // relaxed: the head was observed, so this word is not older than the row.
    if (words[0].relaxed_load() != position + 1) return false;
    load(words + 1, reinterpret_cast<unsigned char*>(&out.row) + 8, sizeof(out.row) - 8);
    if (out.row.preview_length != 0 && position % kHistoryRowCount < previews_) {
      load(words_at(HistoryLayout::preview_of(ring_, position)), out.preview, kPreviewBytes);
    }
    out.row.place = position + 1;
    // relaxed: the words were observed, and no later load passes those.
    return words[0].relaxed_load() == position + 1;
  }

 private:
  // SYNC(history.head): acquire, pairs with HistoryWriter::write.
  [[nodiscard]] std::uint64_t head_now() const {
    const auto& control = *reinterpret_cast<const HistoryControl*>(base_ + HistoryLayout::kControl);
    return control.rings[static_cast<std::size_t>(ring_)].head.observe();
  }
  [[nodiscard]] const Atomic<std::uint64_t>* words_at(std::uint64_t offset) const {
    return reinterpret_cast<const Atomic<std::uint64_t>*>(base_ + offset);
  }
  // SYNC(history.row): acquires, pair with the releases of HistoryWriter::write.
  static void load(const Atomic<std::uint64_t>* from, unsigned char* to, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += 8) {
      const std::uint64_t word = from[at / 8].observe();
      std::memcpy(to + at, &word, 8);
    }
  }
  const std::byte* base_;
  HistoryRing ring_;
  std::uint32_t rows_;
  std::uint32_t previews_;
  std::uint64_t next_ = 0;
  bool has_fallen_ = false;
};

}  // namespace beeline::shm
