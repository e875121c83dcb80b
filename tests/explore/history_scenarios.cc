// A history while a reader looks at it from outside.

#include <optional>

#include "tests/explore/engine.h"
#include "tests/explore/scenarios.h"

namespace beeline::explore {

namespace {

constexpr auto kRing = shm::HistoryRing::kSend;

std::optional<shm::HistoryWriter> recorder;

[[nodiscard]] std::byte* history() { return segment("history", shm::HistoryLayout::kBytes); }
[[nodiscard]] shm::HistoryReader reader() { return {history(), kRing}; }

// A note with the same value in each field.
[[nodiscard]] shm::HistoryNote note_of(std::uint8_t value) {
  return {.event = static_cast<shm::HistoryEvent>(value),
          .reason = value,
          .id = value,
          .cause = value,
          .reply_to = value,
          .at_ns = value,
          .peer = value,
          .rank = value,
          .length = value,
          .flags = value,
          .type = {{value, value, value, value}, value}};
}
void check_whole(const shm::HistoryRow& row, std::uint8_t value) {
  const std::uint64_t numbers[] = {
      row.id,     row.cause,  row.reply_to,   static_cast<std::uint64_t>(row.at_ns),
      row.event,  row.reason, row.peer,       static_cast<std::uint64_t>(row.rank),
      row.length, row.flags,  row.type_length};
  for (const std::uint64_t number : numbers) check(number == value, "a row is torn");
  for (std::size_t i = 0; i < sizeof(row.type); i += 8) {
    check(static_cast<unsigned char>(row.type[i]) == value, "a row is torn");
  }
}

// The next row of the writer lies where the first one does.
void fresh_full_ring() {
  shm::init_history(fresh_history(), "a", kPidA, kLifeA);
  shm::HistoryWriter(history(), kRing).write(note_of(1), {});
  recorder.emplace(history(), kRing, shm::kHistoryRowCount);
}

void write_over() { recorder->write(note_of(2), {}); }

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
    recorder.emplace(history(), kRing);
  };
  scenario.threads = {{"agent", [] { recorder->write(note_of(1), {}); }},
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
