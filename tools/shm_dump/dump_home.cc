#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/shm_dump/dump.h"

namespace beeline::dump {
namespace {

struct HomeContext {
  const Segment& segment;
  const Segments& all;
  shm::ByteView view;
  shm::HomeShape home;

  HomeContext(const Segment& copy, const Segments& segments)
      : segment(copy), all(segments), view(copy.view()), home(shm::capacity_of(view)) {}

  [[nodiscard]] std::uint64_t word(std::size_t field) const {
    return view.u64(home.control(field));
  }
  [[nodiscard]] std::uint32_t half(std::size_t field) const {
    return view.u32(home.control(field));
  }
  [[nodiscard]] std::uint64_t counter(std::size_t field) const {
    return word(offsetof(shm::HomeControl, counters) + field);
  }
};

std::string_view policy_name(std::uint32_t policy) {
  switch (static_cast<shm::OrderPolicy>(policy)) {
    case shm::OrderPolicy::kAged:
      return "aged";
    case shm::OrderPolicy::kStrict:
      return "strict";
    case shm::OrderPolicy::kFifo:
      return "fifo";
  }
  return "unknown";
}

// A live entry and its delivery key. The key is computed from the entry itself, because the index
// of a killed home may hold anything.
struct LiveEntry {
  shm::EntryIndex entry;
  shm::EntryWord word;
  shm::MessageHeader header{};
  std::uint64_t arrival = 0;
  std::int64_t key = 0;
  bool taken = true;  // false: put, but the cursor of its row has not committed it
};

LiveEntry read_entry(const HomeContext& context, shm::EntryIndex i) {
  const std::uint64_t at = context.home.entry_at(i);
  LiveEntry out;
  out.entry = i;
  out.word = shm::EntryWord::unpack(context.view.u64(at));
  out.header = context.view.load<shm::MessageHeader>(at + offsetof(shm::Entry, header));
  out.arrival = context.view.u64(at + offsetof(shm::Entry, arrival));
  const auto policy =
      static_cast<shm::OrderPolicy>(context.half(offsetof(shm::HomeControl, policy)));
  // Clamped: the bytes may hold anything, and the key of a broken home must not overflow.
  const auto step = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(context.word(offsetof(shm::HomeControl, rank_step_us))), 0,
      2'000'000'000);
  out.key = shm::order_key(policy, step, out.header);
  out.taken = context.home.is_taken(context.view, i);
  return out;
}

bool delivered_before(const LiveEntry& a, const LiveEntry& b) {
  return a.key != b.key ? a.key < b.key : a.arrival < b.arrival;
}

std::string note_of(const LiveEntry& entry) {
  std::string note;
  const auto add = [&](std::string_view text) {
    if (!note.empty()) note += ' ';
    note += text;
  };
  if (!entry.taken) add("not-committed");
  if ((entry.header.flags & shm::kFlagUnasked) != 0) add("unasked");
  if ((entry.header.flags & shm::kFlagRevived) != 0) add("was-dead");
  if (is_copy(entry.header)) add("copy");
  if ((entry.header.flags & shm::kFlagCut) != 0) add("cut");
  if (is_ack(entry.header)) add("ack");
  if (is_order(entry.header)) add("control");
  if ((entry.header.flags & shm::kFlagUrgentLane) != 0) add("urgent-lane");
  if ((entry.header.flags & shm::kFlagRequiresAck) != 0) add("requires-ack");
  return note;
}

Json dump_entry(const HomeContext& context, const LiveEntry& entry) {
  const shm::ByteView view = context.view;
  const shm::MessageHeader& header = entry.header;
  const Segment* link = nullptr;
  if (entry.word.row.value() < context.home.rows_allocated(view)) {
    const std::uint64_t row = context.home.row_at(entry.word.row);
    link = context.all.find_link(
        view.u32(row + offsetof(shm::InRow, owner_pid)),
        {shm::Incarnation(view.u64(row)), view.u32(row + offsetof(shm::InRow, serial))});
  }
  const auto payload = view.part(context.home.entry_at(entry.entry) +
                                     offsetof(shm::Entry, payload) + shm::extension_bytes(header),
                                 shm::inline_room(header));
  const bool in_slab = (header.flags & shm::kFlagSlab) != 0;
  Json out;
  out["entry"] = entry.entry.value();
  if (entry.word.state == shm::EntryState::kDead) {
    out["reason"] = shm::to_string(static_cast<shm::DeadReason>(header.flags >> shm::kReasonShift));
  }
  if (entry.word.state == shm::EntryState::kQueued) {
    out["place"] =
        to_string(place_of(entry.word.state, header, context.home.is_task(view, entry.entry)));
  }
  out["key"] = entry.key;
  out["rank"] = header.rank;
  out["attempts"] = entry.word.attempts;
  out["id"] = id_text(header.id);
  out["from"] = agent_text(context.all, shm::pid_of_message(header.id));
  const Texts texts = texts_of(link, header);
  out["type"] = texts.type;
  out["channel"] = texts.channel;
  out["bytes"] = header.length;
  out["age_ms"] = age_ms(context.segment, header.sent_ns);
  out["ttl_ms"] = header.ttl_ms;
  out["reply_to"] = id_text(header.reply_to);
  out["row"] = entry.word.row.value();
  out["slab"] = in_slab ? Json(header.slab) : Json(nullptr);
  out["note"] = note_of(entry);
  out["preview"] = preview_of(header, payload, link);
  return out;
}

Json dump_table(const HomeContext& context, std::vector<LiveEntry> entries, bool by_key) {
  std::sort(entries.begin(), entries.end(), [&](const LiveEntry& a, const LiveEntry& b) {
    return by_key ? delivered_before(a, b) : a.arrival < b.arrival;
  });
  Json out = Json::array();
  for (const LiveEntry& entry : entries) out.push_back(dump_entry(context, entry));
  return out;
}

Json dump_policy(const HomeContext& context) {
  return {{"order", policy_name(context.half(offsetof(shm::HomeControl, policy)))},
          {"capacity", context.home.capacity},
          {"critical_reserve", context.half(offsetof(shm::HomeControl, critical_reserve))},
          {"max_attempts", context.half(offsetof(shm::HomeControl, max_attempts))},
          {"rank_step_ms",
           static_cast<double>(context.word(offsetof(shm::HomeControl, rank_step_us))) / 1e3},
          {"next_arrival", context.word(offsetof(shm::HomeControl, next_arrival))},
          {"predecessor", context.word(offsetof(shm::HomeControl, predecessor))},
          {"reserved_ids", context.word(offsetof(shm::HomeControl, reserved_ids))},
          {"rows_allocated", context.home.rows_allocated(context.view)},
          {"entries_allocated", context.home.entries_allocated(context.view)}};
}

Json dump_counters(const HomeContext& context) {
  const shm::Balance balance = shm::balance_of(context.view, context.home);
  Json out;
  out["balance"] = fmt::format(
      "drained {} = queued {} + tasks {} + leased {} + dead {} + done {} + purged {}{}",
      balance.drained, balance.queued, balance.tasks, balance.leased, balance.dead, balance.done,
      balance.purged,
      balance.drained == balance.accounted()
          ? std::string()
          : fmt::format(" (off by {})",
                        static_cast<std::int64_t>(balance.drained - balance.accounted())));
  out["drained"] = balance.drained;
  out["queued"] = balance.queued;
  out["tasks"] = balance.tasks;
  out["leased"] = balance.leased;
  out["dead_letters"] = balance.dead;
  out["not_committed"] = balance.uncommitted;
  out["done"] = balance.done;
  out["purged"] = balance.purged;
  out["became_dead"] = context.counter(offsetof(shm::InboxCounters, dead));
  out["requeued"] = context.counter(offsetof(shm::InboxCounters, requeued));
  out["rejected"] = context.counter(offsetof(shm::InboxCounters, rejected));
  out["expired"] = context.counter(offsetof(shm::InboxCounters, expired));
  out["exhausted"] = context.counter(offsetof(shm::InboxCounters, exhausted));
  out["bad_slots"] = context.counter(offsetof(shm::InboxCounters, bad_slots));
  out["late_replies"] = context.counter(offsetof(shm::InboxCounters, late_replies));
  out["copies_dropped"] = context.counter(offsetof(shm::InboxCounters, copies_dropped));
  return out;
}

Json dump_rows(const HomeContext& context) {
  Json out = Json::array();
  for (shm::RowIndex i(0); i.value() < context.home.rows_allocated(context.view); ++i) {
    const std::uint64_t at = context.home.row_at(i);
    if (context.view.u64(at) == 0) continue;
    const std::uint32_t owner = context.view.u32(at + offsetof(shm::InRow, owner_pid));
    out.push_back({{"row", i.value()},
                   {"from", agent_text(context.all, owner)},
                   {"from_pid", owner},
                   {"incarnation", context.view.u64(at)},
                   {"serial", context.view.u32(at + offsetof(shm::InRow, serial))},
                   {"normal_cursor", context.home.cursor(context.view, i, shm::Lane::kNormal)},
                   {"urgent_cursor", context.home.cursor(context.view, i, shm::Lane::kUrgent)}});
  }
  return out;
}

Json dump_index(const HomeContext& context) {
  const shm::IndexShape index(context.view, context.home);
  return {{"run_head", index.control.run_head},
          {"run_tail", index.control.run_tail},
          {"heap_count", index.control.heap_count},
          {"size", index.control.size}};
}

}  // namespace

void dump_home(const Segment& segment, const Segments& all, Listing listing, Json& out) {
  const HomeContext context(segment, all);
  out["policy"] = dump_policy(context);
  out["counters"] = dump_counters(context);
  out["rows"] = dump_rows(context);
  std::vector<LiveEntry> queued;
  std::vector<LiveEntry> leased;
  std::vector<LiveEntry> dead;
  for (shm::EntryIndex i(0); i.value() < context.home.entries_allocated(context.view); ++i) {
    const LiveEntry entry = read_entry(context, i);
    // A kill has left this entry half taken: its lane still holds the message.
    if (listing == Listing::kPresent && !entry.taken) continue;
    if (entry.word.state == shm::EntryState::kQueued) queued.push_back(entry);
    if (entry.word.state == shm::EntryState::kLeased) leased.push_back(entry);
    if (entry.word.state == shm::EntryState::kDead) dead.push_back(entry);
  }
  out["inbox"] = dump_table(context, std::move(queued), true);
  out["leased"] = dump_table(context, std::move(leased), true);
  out["dead_letters"] = dump_table(context, std::move(dead), false);
  out["index"] = dump_index(context);
}

}  // namespace beeline::dump
