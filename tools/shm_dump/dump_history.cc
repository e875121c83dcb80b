#include <algorithm>
#include <cstddef>

#include "src/look/escape.h"
#include "tools/shm_dump/dump.h"

namespace beeline::dump {
namespace {

// The rows of a ring that still lie in it.
Json ring_of(shm::ByteView view, shm::HistoryRing ring) {
  const std::uint64_t head = view.u64(shm::ring_head_at(ring));
  return {{"rows_written", head},
          {"rows_kept", std::min<std::uint64_t>(head, shm::kHistoryRowCount)}};
}

}  // namespace

void dump_history(const Segment& segment, Json& out) {
  const shm::ByteView view = segment.view();
  const auto name = view.part(shm::HistoryLayout::kControl, shm::kHistoryNameBytes);
  const std::string_view whole(reinterpret_cast<const char*>(name.data()), name.size());
  out["history"] = {{"of", escape(whole.substr(0, whole.find('\0')))},
                    {"about_sending", ring_of(view, shm::HistoryRing::kSend)},
                    {"about_receiving", ring_of(view, shm::HistoryRing::kOwn)}};
}

}  // namespace beeline::dump
