#include "src/receive/home_memory.h"

#include <algorithm>
#include <bit>

#include "src/segment/names.h"

namespace beeline::receive {

namespace {

// Initialises before the inbox reads the control words.
shm::Home initialised(std::byte* base, const shm::HomeOptions& options, std::uint32_t pid,
                      shm::Incarnation incarnation) {
  const shm::Home home(base, options.capacity);
  shm::init_home(home, options, pid, incarnation);
  return home;
}

}  // namespace

HomeMemory::HomeMemory(segment::Owned memory, const shm::HomeOptions& options, std::uint32_t pid,
                       shm::Incarnation incarnation)
    : memory_(std::move(memory)),
      free_stack_(options.capacity),
      home_(initialised(memory_.data(), options, pid, incarnation)),
      inbox_(home_, free_stack_) {}

Result<std::unique_ptr<HomeMemory>> HomeMemory::create(const std::string& hive, std::uint32_t pid,
                                                       shm::Incarnation incarnation,
                                                       const shm::HomeOptions& options) {
  if (const char* wrong = shm::home_error(options); wrong != nullptr) {
    return fail(ErrorCode::kInvalid, "inbox of agent " + std::to_string(pid) + ": " + wrong);
  }
  auto memory = segment::Owned::create(segment::home_name(hive, pid, incarnation),
                                       shm::HomeLayout(options.capacity).bytes, shm::kPage);
  if (!memory) return tl::unexpected(memory.error());
  std::unique_ptr<HomeMemory> made(new HomeMemory(std::move(*memory), options, pid, incarnation));
  if (auto done = made->reserve_entries(std::min(options.capacity, shm::kEntryStep)); !done) {
    return tl::unexpected(done.error());
  }
  return made;
}

bool HomeMemory::grow_entries() {
  const std::uint32_t now = home_.entries_allocated();
  return add_entries(std::min(home_.capacity(), now * 2)).has_value();
}

Result<void> HomeMemory::reserve_entries(std::uint32_t count) {
  if (count > home_.capacity()) {
    return fail(ErrorCode::kFull, "inbox: " + std::to_string(count) +
                                      " messages needed, capacity is " +
                                      std::to_string(home_.capacity()));
  }
  if (count <= home_.entries_allocated()) return {};
  return add_entries(std::bit_ceil(count));
}

Result<void> HomeMemory::add_entries(std::uint32_t to) {
  const std::uint32_t from = home_.entries_allocated();
  if (to <= from) return {};
  const shm::HomeLayout& layout = home_.layout();
  const std::uint64_t node = sizeof(shm::IndexNode);
  const auto grow = [&](std::uint64_t start, std::uint64_t size) {
    return memory_.allocate(start + from * size, (to - from) * size);
  };
  if (auto done = grow(layout.entries, sizeof(shm::Entry)); !done) return done;
  if (auto done = grow(layout.run, node); !done) return done;
  if (auto done = grow(layout.heap, node); !done) return done;
  inbox_.grow_index(to);
  inbox_.add_entries(from, to);
  return {};
}

Result<shm::RowIndex> HomeMemory::vacant_row() {
  while (!vacant_rows_.empty()) {
    const shm::RowIndex row = vacant_rows_.back();
    if (home_.row(row).incarnation.relaxed_load() == 0) return row;
    vacant_rows_.pop_back();
    is_noted_.reset(row.value());
  }
  const std::uint32_t rows = home_.rows_allocated();
  if (rows == shm::kMaxRows) {
    return fail(ErrorCode::kFull,
                "home: all " + std::to_string(rows) + " rows for in-links are in use");
  }
  const auto done = memory_.allocate(home_.layout().rows + rows * sizeof(shm::InRow),
                                     shm::kRowStep * sizeof(shm::InRow));
  if (!done) return tl::unexpected(done.error());
  // relaxed: the publish of its name (open_row) keeps it before the first row that it counts.
  home_.control().rows_allocated.relaxed_store(rows + shm::kRowStep);
  for (std::uint32_t row = rows + shm::kRowStep; row-- > rows;) {
    note_vacant(shm::RowIndex(static_cast<std::uint16_t>(row)));
  }
  return shm::RowIndex(static_cast<std::uint16_t>(rows));
}

void HomeMemory::note_vacant(shm::RowIndex row) {
  if (is_noted_.test(row.value())) return;
  is_noted_.set(row.value());
  vacant_rows_.push_back(row);
}

void HomeMemory::set_ready() {
  // SYNC(segment.ready): release; everything above is visible to a peer that sees ready.
  home_.header().ready.publish(1);
}

}  // namespace beeline::receive
