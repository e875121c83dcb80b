#pragma once
// A link: the segment that one agent shows to one other agent. Its owner maps it writable, its
// reader read-only.
//
//   page 0   header | control | receipt banks | urgent lane (16 slots by default)
//   page 1   normal lane (256 slots by default)        <- end of the first extent
//            strings   255 x 32 bytes                  <- allocated with the first interned string
//            stamps    one row of 256 words per bank   <- allocated when the opposite has slabs
//            slabs     nine size classes               <- allocated slab by slab
//
// A word in `control` announces each part beyond the first extent after it was allocated. A reader
// that finds an index beyond the part that it has verified looks at that word, verifies, and only
// then touches the memory. The geometry follows from the contract alone; a reader computes it from
// the contract that the coordinator gave it.
//
// The file grows with its allocations, and a process maps only the parts that it uses: first
// everything up to the slabs, then slabs by windows. A class of small slabs is one window, each
// large slab is a window of its own.

#include <array>
#include <utility>

#include "shm/check.h"
#include "shm/slot.h"

namespace beeline::shm {

inline constexpr std::size_t kSlabClasses = 9;
inline constexpr std::uint32_t kMaxSlabs =
    256;  // of all classes together; stamps of one bank fill half a page
// A class of up to this size is mapped as a whole.
inline constexpr std::uint64_t kMaxWindowBytes = 2ULL << 20;
inline constexpr std::size_t kMaxWindows = 35;
inline constexpr std::size_t kBanks = 4;  // incarnations of the peer that may still have slabs of
                                          // ours
inline constexpr std::uint32_t kMaxStrings = 255;
inline constexpr std::size_t kStringBytes = 32;  // 1 length byte, 31 characters
inline constexpr std::uint32_t kDefaultNormalSlots = 256;
inline constexpr std::uint32_t kDefaultUrgentSlots = 16;
inline constexpr std::uint64_t kDefaultMaxPayload = 64ULL << 20;
inline constexpr std::uint64_t kMinMaxPayload = 64ULL << 10;
inline constexpr std::uint64_t kMaxMaxPayload = 1ULL << 30;

// The terms of a link that both ends and the coordinator agree on.
struct LinkContract {
  std::uint32_t normal_slots = kDefaultNormalSlots;
  std::uint32_t urgent_slots = kDefaultUrgentSlots;
  std::uint64_t max_payload_bytes = kDefaultMaxPayload;
  friend constexpr bool operator==(const LinkContract&, const LinkContract&) = default;
};

struct SlabClass {
  std::uint64_t slab_bytes;
  std::uint32_t count;
  std::uint32_t first;         // number of its first slab
  std::uint32_t first_window;  // number of the window with its first slab
  bool in_one_window;          // false: each slab has its own
};

// The size classes of a contract: up to eight fixed ones below the largest payload, and two slabs
// of the largest payload plus a page for the texts that a message may carry. Apart from that page,
// slabs of a class are at most eight times as large as those of the class before, so a payload
// takes at most eight times the memory that it needs.
[[nodiscard]] constexpr std::array<SlabClass, kSlabClasses> slab_classes(
    const LinkContract& contract) {
  constexpr std::array<std::pair<std::uint64_t, std::uint32_t>, kSlabClasses> kSizes{
      {{1ULL << 10, 128},
       {8ULL << 10, 64},
       {64ULL << 10, 32},
       {512ULL << 10, 16},
       {4ULL << 20, 8},
       {16ULL << 20, 2},
       {64ULL << 20, 2},
       {256ULL << 20, 2},
       {~0ULL, 2}}};
  const std::uint64_t largest = round_up(contract.max_payload_bytes, kPage);
  std::array<SlabClass, kSlabClasses> classes{};
  std::uint32_t first = 0;
  std::uint32_t window = 0;
  for (std::size_t i = 0; i < kSlabClasses; ++i) {
    const bool is_last = i + 1 == kSlabClasses;
    const std::uint64_t bytes = is_last ? largest + kPage : kSizes[i].first;
    const std::uint32_t count = is_last || bytes < largest ? kSizes[i].second : 0;
    const bool in_one = count * bytes <= kMaxWindowBytes;
    classes[i] = {bytes, count, first, window, in_one};
    first += count;
    window += in_one ? 1 : count;
  }
  return classes;
}
static_assert(128 + 64 + 32 + 16 + 8 + 2 + 2 + 2 + 2 <= kMaxSlabs);

// Null when the contract is legal, otherwise the error.
[[nodiscard]] constexpr const char* contract_error(const LinkContract& contract) {
  const auto power_of_two = [](std::uint32_t value) {
    return value != 0 && (value & (value - 1)) == 0;
  };
  if (!power_of_two(contract.normal_slots) || contract.normal_slots > kMaxLaneSlots) {
    return "normal_slots must be a power of two of at most 65536";
  }
  if (!power_of_two(contract.urgent_slots) || contract.urgent_slots > kMaxLaneSlots) {
    return "urgent_slots must be a power of two of at most 65536";
  }
  if (contract.max_payload_bytes < kMinMaxPayload || contract.max_payload_bytes > kMaxMaxPayload) {
    return "max_payload_bytes must lie between 65536 and 1073741824";
  }
  return nullptr;
}

// Written by the owner of the link, read by its reader.
struct LinkControl {
  Atomic<std::uint32_t> space;         // 1 while the owner waits for space in this link
  Atomic<std::uint32_t> string_count;  // interned strings, numbered from 1
  Atomic<std::uint64_t> watching;      // incarnation of the reader that the owner rings
  Atomic<std::uint32_t> slabs_allocated[kSlabClasses];
  std::uint32_t reserved0[3];
  std::uint64_t reserved[8];
};
static_assert(sizeof(LinkControl) == kLinePair);
static_assert(offsetof(LinkControl, watching) == 8);
static_assert(offsetof(LinkControl, slabs_allocated) == 16);

// How far the owner has taken one incarnation of the opposite link.
//   vacant (incarnation 0) -> in use (cursors and stamps first, then serial, incarnation last) ->
//   vacant
// `cursors` only rise while the bank is in use. Its stamps only rise too, with one exception: an
// inherited stamp is set back when the message of its slab comes again (withdraw_stamp).
struct ReceiptBank {
  Atomic<std::uint64_t> incarnation;   // owner of the opposite link; stored last; 0 = vacant
  Atomic<std::uint32_t> serial;        // of the opposite link
  Atomic<std::uint32_t> stamps_ready;  // 1 when the row of stamps is allocated
  Atomic<std::uint64_t> cursors[2];  // position of the first message not yet taken: normal, urgent
  std::uint64_t reserved[12];
};
static_assert(sizeof(ReceiptBank) == kLinePair);
static_assert(offsetof(ReceiptBank, cursors) == 16);

// A part of a link that is mapped by itself.
struct Window {
  std::uint32_t number;
  std::uint64_t offset;  // in the segment
  std::uint64_t bytes;
};

// Says that a view has the whole link in one mapping.
struct WholeLink {};

// The offsets of all parts, computed from the contract.
struct LinkLayout {
  // The same for every contract; named like the offsets below.
  static constexpr std::uint64_t control = sizeof(SegmentHeader);
  static constexpr std::uint64_t banks = control + sizeof(LinkControl);
  static constexpr std::uint64_t urgent = banks + kBanks * sizeof(ReceiptBank);
  std::uint64_t normal = 0;
  std::uint64_t strings = 0;
  std::uint64_t stamps = 0;
  std::array<std::uint64_t, kSlabClasses> slabs{};
  std::uint64_t bytes = 0;
  std::uint64_t first_extent = 0;
  std::array<SlabClass, kSlabClasses> classes{};

  static constexpr std::uint64_t kStringsBytes = round_up((kMaxStrings + 1) * kStringBytes, kPage);
  static constexpr std::uint64_t kStampRowBytes = kMaxSlabs * 8;
  static constexpr std::uint64_t kStampsBytes = kBanks * kStampRowBytes;

  constexpr explicit LinkLayout(const LinkContract& contract) : classes(slab_classes(contract)) {
    normal = round_up(urgent + contract.urgent_slots * sizeof(Slot), kPage);
    strings = round_up(normal + contract.normal_slots * sizeof(Slot), kPage);
    first_extent = strings;
    stamps = strings + kStringsBytes;
    std::uint64_t end = stamps + kStampsBytes;
    for (std::size_t i = 0; i < kSlabClasses; ++i) {
      slabs[i] = end;
      end = round_up(end + classes[i].count * classes[i].slab_bytes, kPage);
    }
    bytes = end;
  }

  [[nodiscard]] constexpr std::uint32_t total_slabs() const {
    return classes[kSlabClasses - 1].first + classes[kSlabClasses - 1].count;
  }
  [[nodiscard]] constexpr std::size_t class_of(SlabIndex slab) const {
    BEELINE_DCHECK(slab.value() < total_slabs(), slab, total_slabs());
    std::size_t i = 0;
    while (slab.value() >= classes[i].first + classes[i].count) ++i;
    return i;
  }
  [[nodiscard]] constexpr std::uint64_t slab_offset(SlabIndex slab) const {
    const std::size_t i = class_of(slab);
    return slabs[i] + (slab.value() - classes[i].first) * classes[i].slab_bytes;
  }
  // The offset of the texts that a message carries in its slab.
  [[nodiscard]] constexpr std::uint64_t carried_offset(SlabIndex slab) const {
    return slab_offset(slab) + classes[class_of(slab)].slab_bytes - kCarriedBytes;
  }
  // Bytes from the start that a process maps while it needs no slab.
  [[nodiscard]] constexpr std::uint64_t first_part() const { return slabs[0]; }
  // The window that a slab lies in.
  [[nodiscard]] constexpr Window window_of(SlabIndex slab) const {
    const std::size_t i = class_of(slab);
    const SlabClass& of = classes[i];
    if (of.in_one_window) return {of.first_window, slabs[i], of.count * of.slab_bytes};
    return {of.first_window + slab.value() - of.first, slab_offset(slab), of.slab_bytes};
  }
  [[nodiscard]] constexpr std::uint64_t stamp_offset(std::size_t bank) const {
    return stamps + bank * kStampRowBytes;
  }
};
static_assert(LinkLayout(LinkContract{}).first_extent == 9 * kPage);
static_assert(LinkLayout(LinkContract{}).slabs[0] % kPage == 0);
static_assert(slab_classes({.max_payload_bytes = kMaxMaxPayload}).back().first_window + 2 ==
              kMaxWindows);

// A view of a mapped link. Does not own the mappings; show_window() tells it of each window that
// was mapped. `T` is std::byte for the owner, const std::byte for its reader.
template <typename T>
class BasicLink {
  template <typename U>
  using Like = std::conditional_t<std::is_const_v<T>, const U, U>;

 public:
  // A view without windows. REQUIRES: `base` maps LinkLayout(contract).first_part() bytes.
  BasicLink(T* base, const LinkContract& contract)
      : base_(base),
        layout_(contract),
        contract_(contract),
        rings_{{layout_.normal, contract.normal_slots - std::uint64_t{1}},
               {layout_.urgent, contract.urgent_slots - std::uint64_t{1}}} {}
  // REQUIRES: `base` maps LinkLayout(contract).bytes bytes.
  BasicLink(T* base, const LinkContract& contract, WholeLink) : BasicLink(base, contract) {
    for (SlabIndex slab(0); slab.value() < layout_.total_slabs(); ++slab) {
      const Window window = layout_.window_of(slab);
      windows_[window.number] = base + window.offset;
    }
  }

  [[nodiscard]] Like<SegmentHeader>& header() const { return at<SegmentHeader>(0); }
  [[nodiscard]] Like<LinkControl>& control() const { return at<LinkControl>(layout_.control); }
  [[nodiscard]] Like<ReceiptBank>& bank(std::size_t index) const {
    BEELINE_DCHECK(index < kBanks, index);
    return at<ReceiptBank>(layout_.banks + index * sizeof(ReceiptBank));
  }
  [[nodiscard]] Like<Slot>& slot(Lane lane, std::uint64_t position) const {
    const Ring& ring = rings_[static_cast<std::size_t>(lane)];
    return at<Slot>(ring.offset + (position & ring.mask) * sizeof(Slot));
  }
  [[nodiscard]] std::uint32_t capacity(Lane lane) const {
    return lane == Lane::kUrgent ? contract_.urgent_slots : contract_.normal_slots;
  }
  [[nodiscard]] Like<Atomic<std::uint64_t>>& stamp(std::size_t bank, SlabIndex slab) const {
    BEELINE_DCHECK(bank < kBanks && slab.value() < kMaxSlabs, bank, slab);
    return at<Atomic<std::uint64_t>>(layout_.stamp_offset(bank) + slab.value() * 8ULL);
  }
  // String `number` (from 1) as 4 words.
  [[nodiscard]] Like<WordArray<4>>& string(std::uint32_t number) const {
    BEELINE_DCHECK(number <= kMaxStrings, number);
    return at<WordArray<4>>(layout_.strings + number * kStringBytes);
  }
  // REQUIRES: its window was shown.
  [[nodiscard]] T* slab(SlabIndex number) const {
    const SlabClass& of = layout_.classes[layout_.class_of(number)];
    const std::uint32_t index = number.value() - of.first;
    if (!of.in_one_window) return windows_[of.first_window + index];
    return windows_[of.first_window] + index * of.slab_bytes;
  }
  // The address of the texts that a message carries in this slab. REQUIRES: as slab().
  [[nodiscard]] T* carried(SlabIndex number) const {
    return slab(number) + (layout_.carried_offset(number) - layout_.slab_offset(number));
  }
  // The address of each mapped window, null while it is not mapped.
  [[nodiscard]] T* window(std::uint32_t number) const { return windows_[number]; }
  void show_window(std::uint32_t number, T* at) { windows_[number] = at; }

  [[nodiscard]] const LinkLayout& layout() const { return layout_; }
  [[nodiscard]] const LinkContract& contract() const { return contract_; }
  [[nodiscard]] T* base() const { return base_; }

  // The bank for an opposite link, or kBanks when there is none.
  // SYNC(receipt.bank): acquire, pairs with open_bank().
  [[nodiscard]] std::size_t find_bank(const LinkKey& opposite) const {
    for (std::size_t i = 0; i < kBanks; ++i) {
      if (bank(i).incarnation.observe() == opposite.incarnation.value() &&
          bank(i).serial.observe() == opposite.serial) {
        return i;
      }
    }
    return kBanks;
  }

 private:
  template <typename U>
  [[nodiscard]] Like<U>& at(std::uint64_t offset) const {
    return *reinterpret_cast<Like<U>*>(base_ + offset);
  }

  // The slots of a lane, kept here because each message asks where they begin.
  struct Ring {
    std::uint64_t offset;
    std::uint64_t mask;
  };

  T* base_;
  LinkLayout layout_;
  LinkContract contract_;
  Ring rings_[kLanes];  // by Lane
  std::array<T*, kMaxWindows> windows_{};
};

using Link = BasicLink<std::byte>;
using LinkView = BasicLink<const std::byte>;

// For a receiver with one life only: it always counts (LaneWriter, SlabPool).
struct Always {
  bool operator()() const { return true; }
};

// The identity that an agent was promised for a link.
[[nodiscard]] inline SegmentIdentity link_identity(const LinkContract& contract,
                                                   std::uint32_t owner, std::uint32_t peer,
                                                   const LinkKey& key) {
  return {SegmentKind::kLink, LinkLayout(contract).bytes, owner, peer, key.incarnation, key.serial};
}

// Fills the header and says ready. REQUIRES: the first extent is allocated.
inline void init_link(const Link& link, const SegmentIdentity& identity) {
  BEELINE_CHECK(contract_error(link.contract()) == nullptr, link.contract().normal_slots,
                link.contract().urgent_slots, link.contract().max_payload_bytes);
  SegmentHeader& header = link.header();
  const LinkLayout& layout = link.layout();
  init_header(header, identity);
  add_section(header, SectionKind::kControl, layout.control, 1, sizeof(LinkControl));
  add_section(header, SectionKind::kReceipts, layout.banks, kBanks, sizeof(ReceiptBank));
  add_section(header, SectionKind::kUrgentLane, layout.urgent, link.contract().urgent_slots,
              sizeof(Slot));
  add_section(header, SectionKind::kNormalLane, layout.normal, link.contract().normal_slots,
              sizeof(Slot));
  add_section(header, SectionKind::kStrings, layout.strings, kMaxStrings + 1, kStringBytes);
  add_section(header, SectionKind::kStamps, layout.stamps, kBanks, LinkLayout::kStampRowBytes);
  for (std::size_t i = 0; i < kSlabClasses; ++i) {
    add_section(header, SectionKind::kSlabs, layout.slabs[i], layout.classes[i].count,
                static_cast<std::uint32_t>(layout.classes[i].slab_bytes));
  }
  header.ready.publish(1);
}

// The first bank that is vacant, kBanks when none is.
inline std::size_t vacant_bank(const Link& link) {
  for (std::size_t i = 0; i < kBanks; ++i) {
    if (link.bank(i).incarnation.relaxed_load() == 0) return i;
  }
  return kBanks;
}

// Opens a vacant bank for an opposite link: cursors first, then the name. The caller has stored the
// first stamps before.
// SYNC(receipt.bank): release, pairs with find_bank().
inline void open_bank(ReceiptBank& bank, const LinkKey& opposite, std::uint64_t normal_cursor,
                      std::uint64_t urgent_cursor) {
  bank.cursors[0].relaxed_store(normal_cursor);
  bank.cursors[1].relaxed_store(urgent_cursor);
  bank.serial.publish(opposite.serial);
  bank.incarnation.publish(opposite.incarnation.value());
}

// Closes the bank of an opposite link that has lost its owner. Entries from that link may remain:
// no stamp is stored when they are done, and a successor that finds no bank goes by their states.
// relaxed: the fence of its counter (Inbox::add) keeps earlier stores before this one; a sender
// that finds the bank by its next name sees it closed.
inline void close_bank(ReceiptBank& bank) {
  bank.incarnation.relaxed_store(0);
  bank.stamps_ready.relaxed_store(0);
}

}  // namespace beeline::shm
