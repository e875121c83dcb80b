#pragma once
// Zeroed memory that stands for a segment, and messages to write into it. The tests of shm/ write
// states as bytes, so a rare state takes one line.

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "shm/handover.h"

namespace beeline::shm::test {

inline constexpr std::uint32_t kSenderPid = 7;
inline constexpr std::uint32_t kReceiverPid = 9;
inline constexpr shm::Incarnation kSenderLife{1'000};
inline constexpr shm::Incarnation kReceiverLife{2'000};
inline constexpr LinkKey kInKey{kSenderLife, 1};
inline constexpr LinkContract kSmallContract{8, 4, kMinMaxPayload};

// Exactly as large as the segment, so that the address sanitizer sees every access beyond it.
class Memory {
 public:
  explicit Memory(std::uint64_t bytes)
      : bytes_(bytes), base_(static_cast<std::byte*>(std::aligned_alloc(kPage, bytes))) {
    std::memset(base_.get(), 0, bytes);
  }
  [[nodiscard]] std::byte* base() const { return base_.get(); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::uint64_t bytes_;
  std::unique_ptr<std::byte, Free> base_;
};

struct LinkMemory {
  Memory memory;
  Link link;
  LinkView view;

  explicit LinkMemory(const LinkContract& contract = kSmallContract)
      : memory(LinkLayout(contract).bytes),
        link(memory.base(), contract, WholeLink{}),
        view(memory.base(), contract, WholeLink{}) {}
};

struct HomeMemory {
  Memory memory;
  Home home;
  HomeView view;
  std::vector<EntryIndex> free_stack;

  explicit HomeMemory(std::uint32_t capacity = kMinInboxCapacity, HomeOptions options = {})
      : memory(HomeLayout(capacity).bytes),
        home(memory.base(), capacity),
        view(memory.base(), capacity),
        free_stack(capacity) {
    options.capacity = capacity;
    init_home(home, options, kReceiverPid, kReceiverLife);
    home.control().rows_allocated.publish(kRowStep);
    home.control().index.size = capacity;
  }
  // An inbox over this home with all entries allocated and free.
  [[nodiscard]] Inbox open_inbox() {
    Inbox inbox(home, free_stack);
    inbox.add_entries(0, home.capacity());
    return inbox;
  }
};

[[nodiscard]] inline MessageHeader make_header(std::uint64_t counter, std::uint32_t length = 0) {
  MessageHeader header{};
  header.id = make_message_id(kSenderPid, counter);
  header.sent_ns = 1;
  header.rank = kRankNormal;
  header.length = length;
  header.slab = kNoSlab.value();
  return header;
}

[[nodiscard]] inline SlotCopy inline_message(std::uint64_t counter, std::string_view text = {}) {
  SlotCopy copy{};
  copy.header = make_header(counter, static_cast<std::uint32_t>(text.size()));
  text.copy(reinterpret_cast<char*>(copy.payload), text.size());
  return copy;
}

[[nodiscard]] inline SlotCopy slab_message(std::uint64_t counter, SlabIndex slab,
                                           std::uint64_t generation, std::uint32_t length = 100) {
  SlotCopy copy{};
  copy.header = make_header(counter, length);
  copy.header.flags = kFlagSlab;
  copy.header.slab = slab.value();
  copy.generation = generation;
  return copy;
}

// All memory that a contract allows is allocated and verified.
[[nodiscard]] inline VerifiedExtents verify_all(const LinkLayout& layout) {
  VerifiedExtents verified;
  verified.strings = kMaxStrings;
  for (std::size_t i = 0; i < kSlabClasses; ++i) verified.slabs[i] = layout.classes[i].count;
  return verified;
}

}  // namespace beeline::shm::test
