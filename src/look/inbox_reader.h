#pragma once

// Reads one inbox from copies of its segments. It maps, takes and writes nothing.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <beeline/inbox.h>

#include "src/look/inbox_judge.h"
#include "src/look/inbox_segments.h"

namespace beeline::look {

class InboxReader {
 public:
  // `in_links`: the links that their reader must not forget yet. All three are borrowed.
  InboxReader(const Segments& all, const Segment& home, const std::vector<shm::LinkKey>& in_links)
      : all_(all),
        home_(home),
        in_links_(in_links),
        judge_(all, home),
        view_(home.view()),
        shape_(shm::capacity_of(view_)) {}

  // In the order of SeenInbox::messages.
  [[nodiscard]] std::vector<SeenMessage> read() const;

 private:
  // A message and its place in the order of delivery.
  struct Line {
    SeenMessage message;
    std::int64_t key = 0;
    std::uint64_t arrival = 0;  // breaks ties; in a lane: behind all arrivals, in the order of its
                                // sender
  };

  // `payload`: its bytes that do not lie in a slab.
  [[nodiscard]] Line line_of(const shm::MessageHeader& header, InboxPlace place,
                             const Segment* link, std::span<const std::byte> payload) const;
  [[nodiscard]] Line entry(shm::EntryIndex i, const shm::EntryWord& word) const;
  void note_expiry(const shm::MessageHeader& header, SeenMessage& message) const;
  [[nodiscard]] std::optional<shm::RowIndex> row_of(const Segment& link) const;
  [[nodiscard]] std::optional<std::uint64_t> cursor(const Segment& link,
                                                    std::optional<shm::RowIndex> row,
                                                    shm::Lane lane) const;
  void add_lane(const Segment& link, shm::Lane lane, std::vector<Line>& lines) const;

  const Segments& all_;
  const Segment& home_;
  const std::vector<shm::LinkKey>& in_links_;
  InboxJudge judge_;
  shm::ByteView view_;
  shm::HomeShape shape_;
};

}  // namespace beeline::look
