#include "tests/killpoints/annals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "shm/verify.h"

namespace beeline::killpoints {
namespace {

using Layout = shm::HistoryLayout;

constexpr auto kRing = shm::HistoryRing::kOwn;
constexpr std::uint32_t kPid = 7;
constexpr shm::Incarnation kIncarnation{1'000};
constexpr std::size_t kWatchedRows = 8;

}  // namespace

Annals::Annals(std::uint64_t rows) {
  shm::init_history(memory_->bytes, "a", kPid, kIncarnation);
  writer_ = shm::HistoryWriter(memory_->bytes, kRing);
  plan(rows);
  write();
}

void Annals::plan(std::uint64_t rows) {
  plan_.clear();
  for (std::uint64_t i = 0; i < rows; ++i) plan_.push_back(planned(writer_.position() + i));
}

// One row in three has a whole preview, one a short one, one none.
Annals::Planned Annals::planned(std::uint64_t position) {
  Planned plan;
  const std::uint64_t value = position + 1;
  plan.note = {.event = shm::HistoryEvent::kTaken,
               .id = value,
               .cause = value,
               .reply_to = value,
               .at_ns = static_cast<std::int64_t>(value),
               .peer = static_cast<std::uint32_t>(value),
               .rank = static_cast<std::int32_t>(value),
               .length = static_cast<std::uint32_t>(value),
               .flags = static_cast<std::uint16_t>(value),
               .type = {{value, value, value, value}, shm::kHistoryTypeBytes}};
  constexpr std::size_t kShort = 3;
  plan.preview_bytes = position % 3 == 0 ? 0 : position % 3 == 1 ? kShort : shm::kPreviewBytes;
  std::memset(plan.preview, static_cast<int>(position % 251), plan.preview_bytes);
  return plan;
}

bool Annals::is_right(const shm::HistoryItem& item, std::uint64_t position) {
  const Planned wanted = planned(position);
  const shm::HistoryRow& row = item.row;
  const shm::HistoryNote& note = wanted.note;
  return item.event() == note.event && row.id == note.id && row.cause == note.cause &&
         row.reply_to == note.reply_to && row.at_ns == note.at_ns && row.peer == note.peer &&
         row.rank == note.rank && row.length == note.length && row.flags == note.flags &&
         row.preview_length == wanted.preview_bytes &&
         std::memcmp(row.type, note.type.words, sizeof(row.type)) == 0 &&
         std::memcmp(item.preview, wanted.preview, wanted.preview_bytes) == 0;
}

Image Annals::image() const {
  Image image;
  image.add(memory_->bytes, shm::kPage);
  image.add(memory_->bytes + Layout::rows_of(kRing), kWatchedRows * sizeof(shm::HistoryRow));
  image.add(memory_->bytes + Layout::previews_of(kRing), kWatchedRows * shm::kPreviewBytes);
  return image;
}

Image Annals::whole() const {
  Image image;
  image.add(memory_->bytes, Layout::kBytes);
  return image;
}

std::string Annals::judge(std::uint64_t& head) const {
  const std::span<const std::byte> bytes(memory_->bytes);
  if (const auto finding = shm::verify_segment(bytes, shm::Taken::kAfterDeath)) {
    return fmt::format("tools: {} at {}", finding->invariant, finding->where);
  }
  shm::HistoryReader reader(bytes.data(), kRing);
  shm::HistoryItem item;
  std::uint64_t next = 0;
  std::uint64_t lost = 0;
  while (reader.next(item)) {
    if (item.lost != 0 && lost != next) return fmt::format("history: row {} is missing", next);
    lost += item.lost;
    next += item.lost;
    if (!item.has_row) continue;
    if (!is_right(item, next)) return fmt::format("history: row {} is torn", next);
    ++next;
  }
  if (next < head) return fmt::format("history: its head was {} and is {}", head, next);
  head = next;
  const std::uint64_t gone = head - std::min<std::uint64_t>(head, shm::kHistoryRowCount);
  if (lost <= gone + (gone != 0 || head == shm::kHistoryRowCount ? 1 : 0)) return {};
  return fmt::format("history: {} of {} rows are lost, {} were written over", lost, head, gone);
}

std::string Annals::judge_end() const {
  std::uint64_t head = writer_.position();
  auto wrong = judge(head);
  if (!wrong.empty()) return wrong;
  if (head != writer_.position()) return "history: a row is below the head that nobody wrote";
  shm::HistoryItem item;
  const std::uint64_t oldest = head - std::min<std::uint64_t>(head, shm::kHistoryRowCount);
  const bool is_there = shm::HistoryReader(memory_->bytes, kRing).copy(oldest, item);
  return is_there ? std::string() : "history: a row is lost that nobody writes over";
}

}  // namespace beeline::killpoints
