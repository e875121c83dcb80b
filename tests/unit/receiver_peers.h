#pragma once
// A receiver and the peers that send to it, in one process. The segments are real: sealed and
// mapped read-only. A peer writes the bytes that a test wants into its own segments.

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "src/os/clock.h"
#include "src/receive/receiver.h"
#include "src/send/out_link.h"
#include "tests/support/in_links.h"

namespace beeline::receive::test {

inline constexpr std::uint32_t kReaderPid = 9;
inline constexpr shm::Incarnation kReaderLife{5000};
inline constexpr std::uint32_t kCapacity = 16;  // of the inbox: 14 ordinary messages, 2 urgent ones
inline constexpr std::uint32_t kOrdinaryRoom = 14;
inline constexpr shm::LinkContract kContract{32, 16, shm::kMinMaxPayload};

// Returns a value that a test needs; it fails if there is none.
template <typename T>
[[nodiscard]] T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text);
  return std::move(*result);
}

[[nodiscard]] inline send::OutLink make_link(std::uint32_t owner, std::uint32_t reader,
                                             const shm::LinkKey& key,
                                             const shm::LinkContract& contract = kContract) {
  return must(send::OutLink::create("test", owner, reader, key, contract));
}

struct Peer {
  Peer(std::uint32_t pid_of_it, shm::Incarnation life, std::uint32_t serial,
       const shm::LinkContract& contract = kContract)
      : pid(pid_of_it),
        own(make_link(pid, kReaderPid, {life, 1}, contract)),
        back(make_link(kReaderPid, pid, {kReaderLife, serial})) {}

  [[nodiscard]] shm::MessageHeader sound() const {
    shm::MessageHeader header{};
    header.id = shm::make_message_id(pid, counter + 1);
    header.sent_ns = os::coarse_ns();
    header.rank = shm::kRankNormal;
    header.slab = shm::kNoSlab.value();
    return header;
  }
  // Returns the id.
  std::uint64_t publish(const shm::MessageHeader& header, shm::Lane lane = shm::Lane::kNormal,
                        const void* area = nullptr, std::uint64_t generation = 0) {
    static constexpr char kNothing[shm::kInlineBytes] = {};
    std::uint64_t& position = positions[static_cast<std::size_t>(lane)];
    shm::publish_slot(own.view().slot(lane, position), position, header, generation,
                      area == nullptr ? kNothing : area);
    ++position;
    ++counter;
    return header.id;
  }
  // The same with a payload that lies in a slab.
  shm::SlabPool::Loan publish_in_slab(shm::MessageHeader header, std::string_view payload,
                                      const void* area = nullptr) {
    const send::TakenSlab slab = own.take_slab(payload.size());
    if (!slab) throw std::runtime_error("no slab is free");
    std::memcpy(own.slab_bytes(*slab), payload.data(), payload.size());
    header.flags |= shm::kFlagSlab;
    header.length = static_cast<std::uint32_t>(payload.size());
    header.slab = slab->slab.value();
    own.slabs.mark_out(*slab);
    publish(header, shm::Lane::kNormal, area, slab->generation);
    return *slab;
  }
  std::uint64_t say(shm::Lane lane = shm::Lane::kNormal) { return publish(sound(), lane); }
  void say_often(std::uint32_t times) {
    for (std::uint32_t i = 0; i < times; ++i) say();
  }
  // An order: a control message of the given type in the urgent lane.
  std::uint64_t order(std::uint16_t type, std::uint64_t about) {
    shm::MessageHeader header = sound();
    header.flags = shm::kFlagControl;
    header.type = type;
    header.reply_to = about;
    return publish(header, shm::Lane::kUrgent);
  }
  // A copy of a message to a sibling.
  std::uint64_t show_copy() {
    shm::MessageHeader header = sound();
    header.flags = shm::kFlagCopy | shm::kFlagExtended;
    shm::Extension extension{};
    extension.cause = shm::make_message_id(pid, counter + 1);
    char area[shm::kInlineBytes] = {};
    std::memcpy(area, &extension, sizeof(extension));
    return publish(header, shm::Lane::kNormal, area);
  }
  // Announces a string and returns its number.
  std::uint16_t intern(std::string_view text) { return must_intern(own, text); }
  // How far the receipts of the reader say that it has taken a lane.
  [[nodiscard]] std::uint64_t receipt(shm::Lane lane = shm::Lane::kNormal) const {
    return back.view().bank(link->sink().bank).cursors[static_cast<std::size_t>(lane)].observe();
  }

  static std::uint16_t must_intern(send::OutLink& link, std::string_view text) {
    const auto number = link.intern(text);
    if (!number) throw std::runtime_error("a string cannot be interned");
    return *number;
  }

  std::uint32_t pid;
  send::OutLink own;   // its link to the reader
  send::OutLink back;  // the reader's link to it, for receipts
  InLink* link = nullptr;
  std::uint64_t positions[shm::kLanes] = {0, 0};
  std::uint64_t counter = 0;
};

class ReceiverTest : public testing::Test {
 protected:
  ReceiverTest() { start({}); }

  // Starts a new receiver; earlier ones are gone.
  void start(shm::HomeOptions options, std::uint32_t capacity = kCapacity) {
    receiver_.reset();
    peers_.clear();
    options.capacity = capacity;
    receiver_ = std::make_unique<Receiver>(
        must(HomeMemory::create("test", kReaderPid, kReaderLife, options)));
  }

  // A peer with an open link.
  Peer& join(std::uint32_t pid, shm::Incarnation life = shm::Incarnation(1000),
             const shm::LinkContract& contract = kContract) {
    const auto serial = static_cast<std::uint32_t>(peers_.size() + 1);
    peers_.push_back(std::make_unique<Peer>(pid, life, serial, contract));
    Peer& peer = *peers_.back();
    peer.link = must(beeline::test::add_in_link(*receiver_, peer.own, pid));
    peer.link->set_relation(Relation::kChild, false);
    beeline::test::show_receipts(*peer.link, peer.back);
    return peer;
  }

  // Takes one message, finishes it and returns its id; 0 if there is none.
  std::uint64_t finish_one() {
    const shm::EntryIndex at = receiver_->take();
    if (at == shm::kNoEntry) return 0;
    const std::uint64_t id = receiver_->entry(at).header.id;
    receiver_->done(at);
    return id;
  }
  std::uint32_t finish_all() {
    std::uint32_t count = 0;
    while (finish_one() != 0) ++count;
    return count;
  }
  [[nodiscard]] const shm::InboxCounters& counters() const {
    return receiver_->home().home().control().counters;
  }

  std::vector<std::unique_ptr<Peer>> peers_;  // must outlive the receiver, which reads their memory
  std::unique_ptr<Receiver> receiver_;
};

}  // namespace beeline::receive::test
