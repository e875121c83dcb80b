#include "src/control/directory_segment.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "src/os/clock.h"
#include "src/os/memfd.h"

namespace beeline::control {
namespace {

using Layout = shm::DirectoryLayout;

constexpr std::int64_t kRestNs = 30'000'000'000;
constexpr std::uint32_t kRecordsPerStep = 512;  // 64 KiB in each buffer

static_assert(kRecordsPerStep * sizeof(shm::AgentRecord) % os::kBlockBytes == 0);
static_assert(shm::kMaxAgents % kRecordsPerStep == 0);

}  // namespace

Result<DirectorySegment> DirectorySegment::create(const std::string& hive, std::uint64_t epoch,
                                                  std::uint64_t max_payload_bytes) {
  DirectorySegment segment;
  const std::string name = "beeline-" + hive + "-directory-" + std::to_string(epoch);
  auto fd = os::create_memfd(name, Layout::kBytes);
  if (!fd) return tl::unexpected(std::move(fd.error()));
  segment.fd_ = std::move(*fd);
  if (auto taken = os::allocate(segment.fd_.get(), {0, Layout::kFirstExtent}); !taken) {
    return tl::unexpected(std::move(taken.error()));
  }
  auto mapping = os::Mapping::map_writable(segment.fd_.get(), Layout::kBytes);
  if (!mapping) return tl::unexpected(std::move(mapping.error()));
  segment.mapping_ = std::move(*mapping);
  if (auto sealed = os::seal(segment.fd_.get()); !sealed) {
    return tl::unexpected(std::move(sealed.error()));
  }
  segment.writer_.emplace(segment.mapping_.data(), epoch, max_payload_bytes,
                          static_cast<std::uint64_t>(os::realtime_ns()));
  if (auto grown = segment.grow(1); !grown) return tl::unexpected(std::move(grown.error()));
  return segment;
}

Result<void> DirectorySegment::grow(std::uint32_t count) {
  if (count <= allocated_) return {};
  const std::uint64_t offset = allocated_ * sizeof(shm::AgentRecord);
  const std::uint32_t target = static_cast<std::uint32_t>(shm::round_up(count, kRecordsPerStep));
  const std::uint64_t length = (target - allocated_) * sizeof(shm::AgentRecord);
  for (const std::uint64_t buffer : {Layout::kRecords0, Layout::kRecords1}) {
    if (auto taken = os::allocate(fd_.get(), {buffer + offset, length}); !taken) return taken;
  }
  allocated_ = target;
  return {};
}

Result<std::uint32_t> DirectorySegment::take_index(shm::Incarnation below) {
  const auto oldest = std::find_if(resting_.begin(), resting_.end(), [&](const Resting& place) {
    return view().agent(place.index).incarnation < below;
  });
  const bool none_fresh = records_.size() >= shm::kMaxAgents;
  if (oldest != resting_.end() &&
      (none_fresh || os::monotonic_ns() - oldest->since_ns >= kRestNs)) {
    const std::uint32_t index = oldest->index;
    resting_.erase(oldest);
    taken_[index] = true;
    return index;
  }
  if (none_fresh) {
    return fail(ErrorCode::kFull,
                fmt::format("the hive has {} agents, the limit is {}: let some end that are "
                            "temporary, or start another hive",
                            shm::kMaxAgents, shm::kMaxAgents));
  }
  const auto index = static_cast<std::uint32_t>(records_.size());
  if (auto grown = grow(index + 1); !grown) return tl::unexpected(std::move(grown.error()));
  records_.emplace_back();
  taken_.push_back(true);
  return index;
}

bool DirectorySegment::claim_index(std::uint32_t index) {
  if (index >= shm::kMaxAgents || !grow(index + 1)) return false;
  while (records_.size() <= index) {
    resting_.push_back({static_cast<std::uint32_t>(records_.size()), os::monotonic_ns()});
    records_.emplace_back();
    taken_.push_back(false);
  }
  if (taken_[index]) return false;
  std::erase_if(resting_, [&](const Resting& place) { return place.index == index; });
  taken_[index] = true;
  return true;
}

void DirectorySegment::give_back(std::uint32_t index) {
  taken_[index] = false;
  resting_.push_back({index, os::monotonic_ns()});
}

void DirectorySegment::set_record(std::uint32_t index, const shm::AgentRecord& record) {
  records_[index] = record;
}

Result<void> DirectorySegment::publish() {
  const auto count = static_cast<std::uint32_t>(records_.size());
  if (auto grown = grow(count); !grown) return grown;
  writer_->publish(records_.data(), count);
  writer_->set_agent_count(count);
  return {};
}

void DirectorySegment::set_word(std::uint32_t index, shm::AgentWord word) {
  word.incarnation = std::max(word.incarnation, view().agent(index).incarnation);
  writer_->set_word(index, word);
}

// relaxed: no other process writes it.
// SYNC(directory.packets): release, pairs with News. An agent that sees the count before it reads
// its socket finds there all packets that were counted as taken.
void DirectorySegment::count_due(std::uint32_t index) {
  auto& due = writer_->packets(index).due;
  due.publish(due.relaxed_load() + 1);
}

void DirectorySegment::count_taken(std::uint32_t index) {
  auto& taken = writer_->packets(index).taken;
  taken.publish(taken.relaxed_load() + 1);
}

void DirectorySegment::set_gone(std::uint32_t index, shm::Incarnation incarnation) {
  if (index >= shm::kMaxAgents) return;
  const bool taken = index < taken_.size() && taken_[index];
  set_word(index, {incarnation, taken ? view().agent(index).state : shm::AgentState::kDead});
}

}  // namespace beeline::control
