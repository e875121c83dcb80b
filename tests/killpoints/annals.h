#pragma once
// A history that an agent writes, for the sweep of its writer. Each row follows from its position,
// so one that is torn shows.

#include <cstdint>
#include <string>
#include <vector>

#include "shm/history.h"
#include "tests/killpoints/image.h"
#include "tests/killpoints/shared.h"

namespace beeline::killpoints {

class Annals {
 public:
  // So many rows stand in it. REQUIRES: they fill less than two rounds.
  explicit Annals(std::uint64_t rows);

  // Writes the planned rows.
  void write() {
    for (const Planned& each : plan_) writer_.write(each.note, {each.preview, each.preview_bytes});
  }
  // The next write() writes so many rows.
  void plan(std::uint64_t rows);

  // The bytes that the next rows change.
  [[nodiscard]] Image image() const;
  // The whole segment.
  [[nodiscard]] Image whole() const;

  // As a kill has left it: a reader finds each row below the head, and whole, but the oldest one
  // that the writer may have been writing over. `head`: the last one that was seen, and then the
  // one that is there. Returns an empty text if all of this is so.
  [[nodiscard]] std::string judge(std::uint64_t& head) const;
  // As the writer has left it: no row is missing.
  [[nodiscard]] std::string judge_end() const;

 private:
  struct Planned {
    shm::HistoryNote note;
    std::byte preview[shm::kPreviewBytes]{};
    std::size_t preview_bytes = 0;
  };
  struct alignas(shm::kPage) Memory {
    std::byte bytes[shm::HistoryLayout::kBytes];
  };
  [[nodiscard]] static Planned planned(std::uint64_t position);
  [[nodiscard]] static bool is_right(const shm::HistoryItem& item, std::uint64_t position);

  Shared<Memory> memory_;
  shm::HistoryWriter writer_;
  std::vector<Planned> plan_;
};

}  // namespace beeline::killpoints
