#include "tests/explore/segments.h"

#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include "tests/explore/memory.h"

namespace beeline::explore {

namespace {

struct Carved {
  const char* name;
  std::byte* base;
  std::size_t bytes;
};

std::vector<Carved>& carved() {
  static std::vector<Carved> all;
  return all;
}

}  // namespace

std::byte* segment(const char* name, std::size_t bytes) {
  std::byte* next = arena();
  for (const Carved& one : carved()) {
    if (one.name == std::string_view(name)) return one.base;
    next = one.base + shm::round_up(one.bytes, shm::kPage);
  }
  if (next + bytes > arena() + kArenaBytes) {
    std::fprintf(stderr, "explorer: no room for segment %s; raise kArenaBytes\n", name);
    std::abort();
  }
  carved().push_back({name, next, bytes});
  return next;
}

std::string segment_name(const std::byte* at) {
  for (const Carved& one : carved()) {
    if (at < one.base || at >= one.base + one.bytes) continue;
    char offset[32];
    std::snprintf(offset, sizeof(offset), " +0x%zx", static_cast<std::size_t>(at - one.base));
    return std::string(one.name) + offset;
  }
  return "?";
}

shm::Link fresh_link(const char* name, const shm::LinkContract& contract) {
  const shm::LinkLayout layout(contract);
  std::byte* base = segment(name, layout.bytes);
  std::memset(base, 0, layout.slabs[0]);
  return {base, contract, shm::WholeLink{}};
}

shm::StatusPage& fresh_status(const char* name) {
  std::byte* base = segment(name, shm::kStatusBytes);
  std::memset(base, 0, shm::kStatusBytes);
  return *reinterpret_cast<shm::StatusPage*>(base);
}

shm::Home fresh_home(const char* name, shm::Incarnation life) {
  constexpr std::uint32_t kCapacity = shm::kMinInboxCapacity;
  const shm::HomeLayout layout(kCapacity);
  std::byte* base = segment(name, layout.bytes);
  std::memset(base, 0, layout.rows + shm::kRowStep * sizeof(shm::InRow));
  std::memset(base + layout.entries, 0, layout.bytes - layout.entries);
  const shm::Home home(base, kCapacity);
  shm::init_home(home, {.capacity = kCapacity}, kPidB, life);
  home.control().rows_allocated.relaxed_store(2);
  return home;
}

std::byte* fresh_directory() {
  using Layout = shm::DirectoryLayout;
  constexpr std::size_t kSome = 4 * sizeof(shm::AgentRecord);
  std::byte* base = segment("directory", Layout::kBytes);
  std::memset(base, 0, Layout::kWords + 64);
  std::memset(base + Layout::kRecords0, 0, kSome);
  std::memset(base + Layout::kRecords1, 0, kSome);
  return base;
}

std::byte* fresh_history() {
  using Layout = shm::HistoryLayout;
  std::byte* base = segment("history", Layout::kBytes);
  std::memset(base, 0, Layout::kRows + 2 * sizeof(shm::HistoryRow));
  return base;
}

}  // namespace beeline::explore
