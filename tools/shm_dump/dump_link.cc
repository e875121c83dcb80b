#include <array>
#include <bitset>
#include <optional>

#include "src/look/escape.h"
#include "src/look/segment_name.h"
#include "tools/shm_dump/dump.h"

namespace beeline::dump {
namespace {

using SlabSet = std::bitset<shm::kMaxSlabs>;

// A link and the segments that belong to it, looked up once.
struct LinkContext {
  const Segment& segment;
  const Segments& all;
  shm::ByteView view;
  shm::LinkContract contract;
  shm::LinkLayout layout;
  shm::VerifiedExtents extents;
  std::optional<Receipts> receipts;
  std::optional<Progress> progress;

  LinkContext(const Segment& link, const Segments& segments)
      : segment(link),
        all(segments),
        view(link.view()),
        contract(shm::contract_of(view)),
        layout(contract),
        extents(shm::extents_of(view, layout)),
        receipts(segments.find_receipts(link)),
        progress(segments.find_progress(link)) {}

  // How far the reader has taken a lane, if that is known.
  [[nodiscard]] std::optional<std::uint64_t> taken(shm::Lane which) const {
    if (!progress) return std::nullopt;
    return progress->taken[static_cast<std::size_t>(which)];
  }
  [[nodiscard]] shm::LaneShape lane(shm::Lane which) const {
    return shm::lane_shape(contract, layout, which);
  }
};

constexpr std::array kBothLanes = {shm::Lane::kNormal, shm::Lane::kUrgent};

const char* name_of(shm::Lane lane) { return lane == shm::Lane::kUrgent ? "urgent" : "normal"; }

// `taken`: the value of that column; null: leave the column out.
Json dump_slot(const LinkContext& link, shm::Lane lane, std::uint64_t position, const Json* taken) {
  const std::uint64_t at = link.lane(lane).slot_at(position);
  const shm::SlotCopy copy = shm::slot_copy(link.view, at);
  const shm::MessageHeader& header = copy.header;
  const bool in_slab = (header.flags & shm::kFlagSlab) != 0;
  const auto payload = link.view.part(
      at + offsetof(shm::Slot, payload) + shm::extension_bytes(header), shm::inline_room(header));
  Json out;
  out["lane"] = name_of(lane);
  out["position"] = position;
  out["id"] = id_text(header.id);
  const Texts texts = texts_of(&link.segment, header);
  out["type"] = texts.type;
  out["channel"] = texts.channel;
  out["rank"] = header.rank;
  out["bytes"] = header.length;
  out["age_ms"] = age_ms(link.segment, header.sent_ns);
  out["ttl_ms"] = header.ttl_ms;
  out["reply_to"] = id_text(header.reply_to);
  out["requires_ack"] = (header.flags & shm::kFlagRequiresAck) != 0;
  out["hops"] = header.hops;
  out["slab"] = in_slab ? Json(header.slab) : Json(nullptr);
  out["generation"] = in_slab ? Json(copy.generation) : Json(nullptr);
  if (taken != nullptr) out["taken"] = *taken;
  out["preview"] = preview_of(header, payload, &link.segment);
  return out;
}

// Calls `visit(position, was_taken)` for each message that lies in a lane; `was_taken` is null if
// it is unknown.
template <typename Visit>
void visit_messages(const LinkContext& link, shm::Lane lane, Visit&& visit) {
  const shm::LaneShape shape = link.lane(lane);
  const std::uint64_t tail = shm::tail_of(link.view, shape);
  const auto taken = link.taken(lane);
  std::uint64_t position = tail > shape.capacity ? tail - shape.capacity : 0;
  for (; position < tail; ++position) {
    if (!shm::holds(link.view, shape, position)) continue;
    visit(position, taken ? Json(position < *taken) : Json(nullptr));
  }
}

std::uint64_t count_in_lane(const LinkContext& link, shm::Lane lane) {
  std::uint64_t count = 0;
  visit_messages(link, lane, [&](std::uint64_t, const Json& taken) { count += taken == false; });
  return count;
}

// Fills the two tables of the lanes and marks the slabs of messages that were not taken.
void dump_lanes(const LinkContext& link, Listing listing, Json& out, SlabSet& in_lane) {
  Json lanes = Json::array();
  Json messages = Json::array();
  for (const shm::Lane lane : kBothLanes) {
    const shm::LaneShape shape = link.lane(lane);
    visit_messages(link, lane, [&](std::uint64_t position, const Json& taken) {
      if (taken == true && listing == Listing::kPresent) return;
      Json message = dump_slot(link, lane, position, listing == Listing::kAll ? &taken : nullptr);
      const Json& slab = message["slab"];
      if (taken != true && !slab.is_null() && slab < shm::kMaxSlabs) {
        in_lane.set(slab.get<std::size_t>());
      }
      messages.push_back(std::move(message));
    });
    const auto taken = link.taken(lane);
    lanes.push_back(
        {{"lane", name_of(lane)},
         {"slots", shape.capacity},
         {"tail", shm::tail_of(link.view, shape)},
         {"taken", taken ? Json(*taken) : Json(nullptr)},
         {"in_lane", taken ? Json(count_in_lane(link, lane)) : Json(nullptr)},
         {"told_by", taken ? Json(escape(short_segment_name(link.progress->told_by->source.name)))
                           : Json(nullptr)}});
  }
  out["lanes"] = std::move(lanes);
  out["messages"] = std::move(messages);
}

// The slabs of this link that live entries of its reader's inbox still refer to.
std::optional<SlabSet> slabs_in_inbox(const LinkContext& link) {
  const Segment* reader = link.all.find_home(link.segment.peer_pid());
  if (reader == nullptr) return std::nullopt;
  const shm::ByteView view = reader->view();
  const shm::HomeShape home(shm::capacity_of(view));
  SlabSet held;
  for (shm::EntryIndex i(0); i.value() < home.entries_allocated(view); ++i) {
    const auto word = shm::EntryWord::unpack(view.u64(home.entry_at(i)));
    if (word.state == shm::EntryState::kFree || word.row.value() >= home.rows_allocated(view))
      continue;
    const std::uint64_t row = home.row_at(word.row);
    if (view.u64(row) != link.segment.incarnation().value()) continue;
    if (view.u32(row + offsetof(shm::InRow, serial)) != link.segment.serial()) continue;
    const auto header =
        view.load<shm::MessageHeader>(home.entry_at(i) + offsetof(shm::Entry, header));
    const bool in_slab = (header.flags & shm::kFlagSlab) != 0;
    if (in_slab && header.slab < shm::kMaxSlabs) held.set(header.slab);
  }
  return held;
}

std::uint64_t count_in(const SlabSet& set, const shm::SlabClass& slab_class) {
  std::uint64_t count = 0;
  for (std::uint32_t i = 0; i < slab_class.count; ++i) count += set.test(slab_class.first + i);
  return count;
}

// How many slabs of a class the reader has finished at least once.
Json count_stamped(const LinkContext& link, const shm::SlabClass& slab_class) {
  if (!link.receipts) return nullptr;
  const shm::ByteView view = link.receipts->link->view();
  const shm::LinkLayout layout(shm::contract_of(view));
  const std::uint64_t stamps = layout.stamp_offset(link.receipts->bank);
  std::uint64_t count = 0;
  for (std::uint32_t i = 0; i < slab_class.count; ++i) {
    count += view.u64(stamps + (slab_class.first + i) * 8ULL) != 0;
  }
  return count;
}

Json dump_slabs(const LinkContext& link, const SlabSet& in_lane) {
  const auto in_inbox = slabs_in_inbox(link);
  Json out = Json::array();
  for (std::size_t i = 0; i < shm::kSlabClasses; ++i) {
    const shm::SlabClass& slab_class = link.layout.classes[i];
    out.push_back({{"class", i},
                   {"slab_bytes", slab_class.slab_bytes},
                   {"count", slab_class.count},
                   {"allocated", link.extents.slabs[i]},
                   {"in_lane", link.progress ? Json(count_in(in_lane, slab_class)) : Json(nullptr)},
                   {"in_inbox", in_inbox ? Json(count_in(*in_inbox, slab_class)) : Json(nullptr)},
                   {"stamped", count_stamped(link, slab_class)}});
  }
  return out;
}

Json dump_strings(const LinkContext& link) {
  Json out = Json::array();
  for (std::uint32_t i = 1; i <= link.extents.strings; ++i) {
    out.push_back(string_of(&link.segment, i));
  }
  return out;
}

Json dump_banks(const LinkContext& link) {
  Json out = Json::array();
  for (std::size_t i = 0; i < shm::kBanks; ++i) {
    const std::uint64_t at = link.layout.banks + i * sizeof(shm::ReceiptBank);
    if (link.view.u64(at) == 0) continue;
    const std::uint64_t cursors = at + offsetof(shm::ReceiptBank, cursors);
    std::uint64_t stamps = 0;
    for (std::uint32_t slab = 0; slab < shm::kMaxSlabs; ++slab) {
      stamps += link.view.u64(link.layout.stamp_offset(i) + slab * 8ULL) != 0;
    }
    out.push_back(
        {{"bank", i},
         {"of_incarnation", link.view.u64(at)},
         {"of_serial", link.view.u32(at + offsetof(shm::ReceiptBank, serial))},
         {"normal_cursor", link.view.u64(cursors)},
         {"urgent_cursor", link.view.u64(cursors + 8)},
         {"stamps_ready", link.view.u32(at + offsetof(shm::ReceiptBank, stamps_ready)) != 0},
         {"stamped_slabs", stamps}});
  }
  return out;
}

}  // namespace

std::optional<std::uint64_t> count_not_taken(const Segment& segment, const Segments& all) {
  const LinkContext link(segment, all);
  if (!link.progress) return std::nullopt;
  std::uint64_t count = 0;
  for (const shm::Lane lane : kBothLanes) count += count_in_lane(link, lane);
  return count;
}

void dump_link(const Segment& segment, const Segments& all, Listing listing, Json& out) {
  const LinkContext link(segment, all);
  const std::uint64_t control = link.layout.control;
  out["contract"] = {{"normal_slots", link.contract.normal_slots},
                     {"urgent_slots", link.contract.urgent_slots},
                     {"max_payload_bytes", link.contract.max_payload_bytes}};
  out["control"] = {
      {"waits_for_space", link.view.u32(control + offsetof(shm::LinkControl, space)) != 0},
      {"watching", link.view.u64(control + offsetof(shm::LinkControl, watching))}};
  SlabSet in_lane;
  dump_lanes(link, listing, out, in_lane);
  out["slabs"] = dump_slabs(link, in_lane);
  out["strings"] = dump_strings(link);
  out["banks"] = dump_banks(link);
}

}  // namespace beeline::dump
