#include <string_view>

#include "tools/shm_dump/dump.h"

namespace beeline::dump {
namespace {

std::string_view sleep_name(std::uint64_t word) {
  switch (shm::how_asleep(word)) {
    case shm::Sleep::kAwake:
      return "awake";
    case shm::Sleep::kFutex:
      return "asleep (futex)";
    case shm::Sleep::kEvent:
      return "asleep (eventfd)";
  }
  return "unknown";
}

}  // namespace

void dump_status(const Segment& segment, Json& out) {
  const shm::ByteView view = segment.view();
  out["status"] = {
      {"sleep", sleep_name(view.u64(offsetof(shm::StatusPage, sleep)))},
      {"activity",
       shm::to_string(shm::activity_from(view.u32(offsetof(shm::StatusPage, activity))))},
      {"queued", view.u32(offsetof(shm::StatusPage, queued))},
      {"critical_queued", view.u32(offsetof(shm::StatusPage, critical_queued))},
      {"capacity", view.u32(offsetof(shm::StatusPage, capacity))},
      {"sleeps", view.u64(offsetof(shm::StatusPage, sleeps))}};
}

}  // namespace beeline::dump
