// The reader of a damaged history: it ends, stays inside, and believes no length. The lines that
// tools print of its rows are text.

#include "shm/history.h"
#include "tests/fuzz/target.h"
#include "tests/unit/verify_samples.h"

namespace beeline::fuzz {
namespace {

// How many items a reader yields at most, and the rows of all of them.
void read_all(const std::byte* base, shm::HistoryRing ring) {
  shm::HistoryReader reader(base, ring);
  shm::HistoryItem item;
  std::uint32_t rows = 0;
  while (reader.next(item)) {
    FUZZ_DEMAND(item.has_row || item.lost != 0);
    FUZZ_DEMAND(item.type().size() <= shm::kHistoryTypeBytes);
    FUZZ_DEMAND(item.shown().size() <= shm::kPreviewBytes);
    FUZZ_DEMAND(!to_string(item.event()).empty());
    if (item.has_row) ++rows;
    FUZZ_DEMAND(rows <= shm::kHistoryRowCount);  // nobody writes meanwhile
  }
  FUZZ_DEMAND(!reader.next(item));
}

BEELINE_FUZZ_TARGET(history) {
  static const test::Sample sound = test::sample_history();
  test::Sample sample = sound;
  Feed feed(input);
  const auto bytes = sample.bytes();
  // Most of the segment is rows: write to the heads, or anywhere.
  if (feed.take<std::uint8_t>() % 2 == 0) scribble(feed, bytes.first(shm::kPage), 8);
  scribble(feed, bytes, 64);
  read_all(sample.data(), shm::HistoryRing::kSend);
  read_all(sample.data(), shm::HistoryRing::kOwn);
}

}  // namespace
}  // namespace beeline::fuzz
