// A history while a reader looks at it from outside.

#include <optional>

#include "tests/explore/engine.h"
#include "tests/explore/scenarios.h"

namespace beeline::explore {

namespace {

constexpr auto kRing = shm::HistoryRing::kSend;

std::optional<shm::HistoryWriter> writer;

[[nodiscard]] std::byte* history() { return segment("history", shm::HistoryLayout::kBytes); }
[[nodiscard]] shm::HistoryReader reader() { return {history(), kRing}; }

// A row with the same value in every byte, but for its lengths: it has no preview.
[[nodiscard]] shm::HistoryRow row_of(unsigned char value) {
  shm::HistoryRow row;
  std::memset(&row, value, sizeof(row));
  return row;
}
void check_whole(const shm::HistoryRow& row, unsigned char value) {
  shm::HistoryRow wanted = row_of(value);
  wanted.place = row.place;
  wanted.preview_length = 0;
  check(std::memcmp(&row, &wanted, sizeof(row)) == 0, "a row is torn");
}

// The next row of the writer lies where the first one does.
void fresh_full_ring() {
  shm::init_history(fresh_history(), "a", kPidA, kLifeA);
  shm::HistoryWriter(history(), kRing).write(row_of(1), {});
  writer.emplace(history(), kRing, shm::kHistoryRowCount);
}

void write_over() { writer->write(row_of(2), {}); }

void read_first() {
  shm::HistoryItem item;
  if (reader().copy(0, item)) check_whole(item.row, 1);
}

Scenario written_over() {
  Scenario scenario("history-row", "1 row, written over",
                    "a row that is read while it is written over is whole, or lost");
  scenario.set_up = [] { fresh_full_ring(); };
  scenario.threads = {{"agent", [] { write_over(); }}, {"tool", [] { read_first(); }}};
  scenario.least = 16;
  return scenario;
}

Scenario below_the_head() {
  Scenario scenario("history-head", "1 row", "a row below the head is there, and whole");
  scenario.set_up = [] {
    shm::init_history(fresh_history(), "a", kPidA, kLifeA);
    writer.emplace(history(), kRing);
  };
  scenario.threads = {{"agent", [] { writer->write(row_of(1), {}); }},
                      {"tool", [] {
                         shm::HistoryItem item;
                         if (!reader().next(item)) return;
                         check(item.has_row && item.lost == 0, "a row below the head is missing");
                         check_whole(item.row, 1);
                       }}};
  scenario.least = 2;
  return scenario;
}

Scenario killed() {
  Scenario scenario("history-killed", "1 row, written over",
                    "a writer that is killed loses the row that it was writing over alone");
  scenario.set_up = [] { fresh_full_ring(); };
  scenario.threads = {{"agent", [] { write_over(); }}, {"tool", [] { read_first(); }}};
  scenario.victim = 0;
  scenario.judge = [] {
    read_first();
    const auto& control =
        *reinterpret_cast<const shm::HistoryControl*>(history() + shm::HistoryLayout::kControl);
    if (control.rings[0].head.relaxed_load() != shm::kHistoryRowCount + 1) return;
    shm::HistoryItem item;
    check(reader().copy(shm::kHistoryRowCount, item), "the last row is missing");
    check_whole(item.row, 2);
  };
  scenario.least = 16;
  return scenario;
}

}  // namespace

void add_history_scenarios(Scenarios& all, Depth /*depth*/) {
  all.push_back(written_over());
  all.push_back(below_the_head());
  all.push_back(killed());
}

}  // namespace beeline::explore
