// Operations of an agent that records its messages, swept instruction by instruction. No other
// process writes to a history, and none waits for it.

#include <memory>
#include <utility>

#include "tests/killpoints/scenario.h"

namespace beeline::killpoints {
namespace {

// `before` rows stand in the ring; `rows` more are written.
Operation record(std::string name, std::uint64_t before, std::uint64_t rows) {
  return {std::move(name),
          Actor::kRecorder,
          [=](Rig& rig) {
            rig.annals = std::make_unique<Annals>(before);
            rig.annals->plan(rows);
          },
          [](Rig& rig) { rig.annals->write(); },
          [](Rig& /*rig*/) {},
          "empty",
          false,
          false};
}

}  // namespace

std::vector<Operation> history_operations() {
  constexpr std::uint64_t kFull = shm::kHistoryRowCount;
  return {record("record-first", 0, 1), record("record-preview", 2, 1),
          record("record-over", kFull, 1), record("record-over-preview", kFull + 1, 1),
          record("record-three", kFull, 3)};
}

}  // namespace beeline::killpoints
