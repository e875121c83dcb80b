#pragma once

// Small sound segments of each kind, made by the functions that their owners use, for tests that
// break them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "shm/directory.h"
#include "shm/history.h"
#include "shm/inbox.h"
#include "shm/lane.h"
#include "shm/status.h"
#include "shm/strings.h"

namespace beeline::test {

inline constexpr std::uint32_t kSender = 7;
inline constexpr std::uint32_t kReader = 9;
inline constexpr shm::LinkKey kSenderLink{shm::Incarnation(1000), 1};
inline constexpr shm::Incarnation kReaderLife{5000};
inline constexpr shm::LinkContract kSmallContract{4, 2, shm::kMinMaxPayload};
inline constexpr std::uint32_t kSmallInbox = 16;

// The bytes of one segment, zeroed and aligned like a mapping.
class Sample {
 public:
  explicit Sample(std::uint64_t size_bytes)
      : size_bytes_(size_bytes), pages_((size_bytes + shm::kPage - 1) / shm::kPage) {}

  [[nodiscard]] std::byte* data() { return pages_.front().bytes; }
  [[nodiscard]] std::span<std::byte> bytes() { return {data(), size_bytes_}; }

  // Writes one word that no owner would write.
  template <typename T>
  void poke(std::uint64_t offset, T value) {
    std::memcpy(data() + offset, &value, sizeof(T));
  }
  template <typename T>
  [[nodiscard]] T peek(std::uint64_t offset) {
    T value;
    std::memcpy(&value, data() + offset, sizeof(T));
    return value;
  }

 private:
  struct alignas(shm::kPage) Page {
    std::byte bytes[shm::kPage]{};
  };
  std::uint64_t size_bytes_;
  std::vector<Page> pages_;
};

inline shm::MessageHeader sample_message(std::uint64_t counter, std::int32_t rank) {
  shm::MessageHeader header{};
  header.id = shm::make_message_id(kSender, counter);
  header.sent_ns = 1'000'000'000;
  header.rank = rank;
  header.length = 5;
  header.type = 1;
  header.channel = 2;
  header.slab = shm::kNoSlab.value();
  return header;
}

// Six messages in the normal lane of four slots, so that it has gone round; one with a slab in the
// urgent lane; two strings; one bank.
inline Sample sample_link() {
  Sample sample(shm::LinkLayout(kSmallContract).bytes);
  const shm::Link link(sample.data(), kSmallContract);
  shm::init_link(link, shm::link_identity(kSmallContract, kSender, kReader, kSenderLink));
  (void)shm::append_string(link, "task");
  (void)shm::append_string(link, "channel");
  link.control().slabs_allocated[0].publish(2);
  const char payload[shm::kInlineBytes] = "hello";
  for (std::uint64_t position = 0; position < 6; ++position) {
    shm::publish_slot(link.slot(shm::Lane::kNormal, position), position,
                      sample_message(position + 1, shm::kRankNormal), 0, payload);
  }
  shm::MessageHeader urgent = sample_message(7, shm::kRankCritical);
  urgent.flags = shm::kFlagSlab;
  urgent.length = 500;
  urgent.slab = 1;
  shm::publish_slot(link.slot(shm::Lane::kUrgent, 0), 0, urgent, 1, nullptr);
  shm::open_bank(link.bank(0), {kReaderLife, 3}, 11, 2);
  return sample;
}

// An inbox with messages in every state: queued in run and heap, matched, leased, dead, done.
inline Sample sample_home() {
  Sample sample(shm::HomeLayout(kSmallInbox).bytes);
  const shm::Home home(sample.data(), kSmallInbox);
  shm::HomeOptions options;
  options.capacity = kSmallInbox;
  shm::init_home(home, options, kReader, kReaderLife);
  home.control().rows_allocated.publish(shm::kRowStep);
  shm::open_row(home.row(shm::RowIndex(0)), kSenderLink, kSender, 0, 0);
  shm::open_row(home.row(shm::RowIndex(1)), {kSenderLink.incarnation, 2}, kSender + 1, 0, 0);
  shm::close_row(home.control(), home.row(shm::RowIndex(1)));
  std::vector<shm::EntryIndex> free_stack(kSmallInbox);
  shm::Inbox inbox(home, free_stack);
  inbox.grow_index(kSmallInbox);
  inbox.add_entries(0, kSmallInbox);
  const std::int32_t ranks[] = {2, 3, 1, 0, -1, -2, 2, 2, 5};
  std::uint64_t position = 0;
  for (const std::int32_t rank : ranks) {
    shm::SlotCopy copy{};
    copy.header = sample_message(position + 1, rank);
    const bool matched = position == 6;
    inbox.put(copy, shm::RowIndex(0), shm::Lane::kNormal, position, copy.header.sent_ns,
              matched ? shm::kFlagMatched : 0);
    ++position;
  }
  inbox.commit(shm::RowIndex(0), shm::Lane::kNormal, position);
  inbox.done(inbox.take_best(), nullptr);
  inbox.bury(inbox.take_best(), shm::DeadReason::kRejected);
  inbox.requeue(inbox.take_best());
  inbox.take_best();
  // Falling keys go to the heap.
  for (std::int32_t rank = 40; rank > 36; --rank) {
    shm::SlotCopy copy{};
    copy.header = sample_message(position + 1, rank - 50);
    inbox.put(copy, shm::RowIndex(0), shm::Lane::kNormal, position, copy.header.sent_ns, 0);
    inbox.commit(shm::RowIndex(0), shm::Lane::kNormal, ++position);
  }
  home.header().ready.publish(1);
  return sample;
}

inline Sample sample_status() {
  Sample sample(shm::kStatusBytes);
  auto& page = *reinterpret_cast<shm::StatusPage*>(sample.data());
  shm::init_status(page, kReader, kReaderLife);
  page.capacity.publish(kSmallInbox);
  page.queued.publish(3);
  page.critical_queued.publish(1);
  return sample;
}

inline shm::AgentRecord sample_record(std::uint32_t pid, std::uint32_t parent,
                                      std::string_view name) {
  shm::AgentRecord record{};
  record.pid = pid;
  record.parent_pid = parent;
  name.copy(record.name, shm::kNameBytes);
  return record;
}

// King, two children and a grandchild; published twice, so that buffer 0 is current.
inline Sample sample_directory() {
  Sample sample(shm::DirectoryLayout::kBytes);
  constexpr std::uint64_t kEpoch = 70;
  shm::DirectoryWriter writer(sample.data(), kEpoch, shm::kDefaultMaxPayload, 1);
  // The coordinator is agent 1; a new directory in an earlier form named none.
  const shm::AgentRecord records[] = {sample_record(1, 0, "king"), sample_record(7, 1, "queen"),
                                      sample_record(9, 1, "lead"), sample_record(11, 9, "worker")};
  using State = shm::AgentState;
  writer.set_word(0, {shm::Incarnation(10), State::kRunning});
  writer.set_word(1, {shm::Incarnation(1000), State::kRunning});
  writer.set_word(2, {kReaderLife, State::kAway});
  writer.set_word(3, {shm::kNoIncarnation, State::kStarting});
  writer.set_agent_count(4);
  writer.publish(records, 4);
  writer.publish(records, 4);
  return sample;
}

inline shm::HistoryNote sample_note(std::uint64_t counter) {
  return {.event = shm::HistoryEvent::kSent,
          .id = shm::make_message_id(kSender, counter),
          .cause = shm::make_message_id(kReader, counter),
          .at_ns = 1'000'000'000,
          .peer = kReader,
          .rank = shm::kRankNormal,
          .length = 5,
          .type = shm::type_words("task")};
}

inline Sample sample_history() {
  Sample sample(shm::HistoryLayout::kBytes);
  shm::init_history(sample.data(), "worker", kSender, kSenderLink.incarnation);
  shm::HistoryWriter sent(sample.data(), shm::HistoryRing::kSend);
  for (std::uint64_t i = 1; i <= shm::kHistoryRowCount + 6; ++i) sent.write(sample_note(i), {});
  shm::HistoryWriter own(sample.data(), shm::HistoryRing::kOwn);
  const std::string_view preview = "hello";
  for (std::uint64_t i = 1; i <= 5; ++i) {
    own.write(sample_note(i), std::as_bytes(std::span(preview)));
  }
  return sample;
}

}  // namespace beeline::test
