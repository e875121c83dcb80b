#pragma once
// The records of the owners of all in-links, found by the row of the link: each turn looks at the
// record of each link whose owner lives.

#include <cstddef>
#include <optional>
#include <vector>

#include "shm/check.h"
#include "src/agent/peer_record.h"

namespace beeline {

// One thread.
class PeerRecords {
 public:
  // Keeps the record of a link that has its row. A reference to another record is invalid after it.
  PeerRecord& add(const PeerRecord& record) {
    const std::size_t row = record.link().row().value();
    if (records_.size() <= row) records_.resize(row + 1);
    BEELINE_CHECK(!records_[row], row, record.link().owner_pid());
    return records_[row].emplace(record);
  }
  [[nodiscard]] PeerRecord& of(const receive::InLink& link) {
    const std::size_t row = link.row().value();
    BEELINE_DCHECK(row < records_.size() && records_[row], row, records_.size());
    BEELINE_DCHECK(&records_[row]->link() == &link, row, link.owner_pid());
    return *records_[row];
  }
  // The link of this row has gone.
  void remove(shm::RowIndex row) {
    BEELINE_CHECK(row.value() < records_.size() && records_[row.value()], row, records_.size());
    records_[row.value()].reset();
  }

 private:
  std::vector<std::optional<PeerRecord>> records_;  // by row
};

}  // namespace beeline
