#include "src/look/oldest.h"

#include <algorithm>
#include <cstddef>

namespace beeline::look {

std::int64_t older(std::optional<std::int64_t> known, std::int64_t sent_ns) noexcept {
  return known ? std::min(*known, sent_ns) : sent_ns;
}

OldestEntries oldest_entries(shm::ByteView view, const shm::HomeShape& shape, std::int64_t now_ns) {
  OldestEntries oldest;
  for (shm::EntryIndex i(0); i.value() < shape.entries_allocated(view); ++i) {
    const std::uint64_t at = shape.entry_at(i);
    const auto word = shm::EntryWord::unpack(view.u64(at));
    const bool is_queued = word.state == shm::EntryState::kQueued;
    if ((!is_queued && word.state != shm::EntryState::kLeased) || !shape.is_taken(view, i)) {
      continue;
    }
    const auto header = view.load<shm::MessageHeader>(at + offsetof(shm::Entry, header));
    const bool is_awaited = (header.flags & shm::kFlagMatched) != 0;
    if (is_queued && !is_awaited && (header.flags & shm::kFlagStashed) != 0) {
      if (!shape.is_task(view, i)) ++oldest.aside;
      continue;
    }
    auto& time = is_queued ? oldest.waiting_ns : oldest.in_hand_ns;
    time = older(time, std::clamp<std::int64_t>(header.sent_ns, 0, now_ns));
  }
  return oldest;
}

std::int64_t empty_until(shm::ByteView view, const shm::HomeShape& shape, shm::RowIndex row,
                         std::int64_t now_ns) {
  const auto time = [&](std::uint64_t at) {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(view.u64(at)), 0, now_ns);
  };
  const std::uint64_t at = shape.row_at(row);
  const std::int64_t all_empty = time(shape.control(offsetof(shm::HomeControl, all_empty_ns)));
  const std::int64_t seen = time(at + offsetof(shm::InRow, seen_empty_ns));
  const bool was_known = time(at + offsetof(shm::InRow, known_since_ns)) < all_empty;
  return was_known ? std::max(seen, all_empty) : seen;
}

LaneTimes::LaneTimes(shm::ByteView view, const shm::LaneShape& shape, std::uint64_t tail)
    : first_(tail > shape.capacity ? tail - shape.capacity : 0) {
  times_.reserve(tail - first_);
  for (std::uint64_t position = first_; position < tail; ++position) {
    if (!shm::holds(view, shape, position)) {
      times_.push_back(-1);
      continue;
    }
    const auto header =
        view.load<shm::MessageHeader>(shape.slot_at(position) + offsetof(shm::Slot, header));
    times_.push_back(std::max<std::int64_t>(header.sent_ns, 0));
  }
}

std::optional<std::int64_t> LaneTimes::oldest_from(std::uint64_t position) const noexcept {
  std::optional<std::int64_t> oldest;
  for (std::size_t i = position > first_ ? position - first_ : 0; i < times_.size(); ++i) {
    if (times_[i] >= 0) oldest = older(oldest, times_[i]);
  }
  return oldest;
}

}  // namespace beeline::look
