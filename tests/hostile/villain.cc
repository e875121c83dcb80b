#include "tests/hostile/villain.h"

#include <gtest/gtest.h>

#include <variant>

#include "src/os/clock.h"
#include "src/os/event_fd.h"
#include "src/wake/bell.h"
#include "tests/support/hive_test.h"

namespace beeline::test {

namespace {

constexpr std::uint32_t kCapacity = 16;  // of its inbox, which stays empty

}  // namespace

Villain::Villain(const std::string& name, const std::string& victim, Stay stay) {
  join(name, victim, stay);
  open_link(victim);
  await_link_back();
}

shm::Home Villain::home() const { return {home_.data(), kCapacity}; }

void Villain::join(const std::string& name, const std::string& victim, Stay stay) {
  control::ClientOptions options;
  options.start = false;
  auto client = control::Client::connect(options);
  ASSERT_TRUE(client) << client.error().text;
  client_ = std::move(*client);
  control::AttachRequest request;
  request.name = name;
  request.parent = victim;
  request.temporary = stay == Stay::kTemporary;
  auto attached = client_.attach(request);
  ASSERT_TRUE(attached) << attached.error().text;
  attached_ = std::move(*attached);
  home_ =
      *segment::Owned::create("villain-home", shm::HomeLayout(kCapacity).bytes, 64 * shm::kPage);
  shm::HomeOptions home;
  home.capacity = kCapacity;
  shm::init_home(shm::Home(home_.data(), kCapacity), home, pid(), attached_.incarnation);
  shm::Home(home_.data(), kCapacity).header().ready.publish(1);
  status_ = *segment::Owned::create("villain-status", shm::kStatusBytes, shm::kStatusBytes);
  shm::init_status(status(), pid(), attached_.incarnation);
  event_ = *os::create_event_fd();
  const auto provided = client_.provide(home_.fd(), status_.fd(), event_.get(), true);
  ASSERT_TRUE(provided) << provided.error().text;
}

void Villain::open_link(const std::string& victim) {
  const auto agents = client_.list_all();
  ASSERT_TRUE(agents) << agents.error().text;
  for (const control::ListedAgent& each : *agents) {
    if (each.name == victim) victim_ = each.pid;
  }
  ASSERT_NE(victim_, 0U) << "no agent " << victim;
  const shm::LinkContract contract;
  const shm::LinkLayout layout(contract);
  key_ = {attached_.incarnation, 1};
  memory_ = *segment::Owned::create_link("villain-link", layout);
  link_ = shm::Link(memory_.data(), contract);
  shm::init_link(link_, shm::link_identity(contract, pid(), victim_, key_));
  control::OpenRequest request;
  request.to = victim_;
  request.serial = key_.serial;
  request.contract = contract;
  auto opened = client_.open(request, memory_.fd());
  ASSERT_TRUE(opened) << opened.error().text;
  ASSERT_TRUE(opened->process);
  auto status = os::Mapping::map_readable(opened->status.get(), shm::kStatusBytes);
  ASSERT_TRUE(status) << status.error().text;
  victim_status_ = std::move(*status);
  victim_event_ = std::move(opened->event);
}

std::byte* Villain::map_slabs() {
  const auto opened = memory_.open_window(link_, shm::SlabIndex(0));
  EXPECT_TRUE(opened) << opened.error().text;
  return link_.slab(shm::SlabIndex(0));
}

void Villain::await_link_back() {
  const Deadline deadline = patience();
  while (shown_memory_.data() == nullptr) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "the victim opens no link back";
    (void)os::wait_readable(client_.fd(), 100ms);
    while (auto next = client_.try_next()) {
      auto* announced = std::get_if<control::AnnouncedLink>(&*next);
      if (announced == nullptr || announced->pid != victim_) continue;
      auto mapping = os::Mapping::map_part_readable(
          announced->link.get(), {0, shm::LinkLayout(announced->contract).first_part()});
      ASSERT_TRUE(mapping) << mapping.error().text;
      shown_memory_ = std::move(*mapping);
      shown_ = shm::LinkView(shown_memory_.data(), announced->contract);
      shown_key_ = {announced->incarnation, announced->serial};
    }
  }
}

shm::MessageHeader Villain::sound() const {
  shm::MessageHeader header{};
  header.id = shm::make_message_id(pid(), counter_ + 1);
  header.sent_ns = os::coarse_ns();
  header.rank = shm::kRankNormal;
  header.slab = shm::kNoSlab.value();
  return header;
}

void Villain::publish(const shm::MessageHeader& header, const void* area, std::uint64_t generation,
                      shm::Lane lane) {
  static constexpr char kNothing[shm::kInlineBytes] = {};
  std::uint64_t& position = positions_[static_cast<std::size_t>(lane)];
  shm::publish_slot(link_.slot(lane, position), position, header, generation,
                    area == nullptr ? kNothing : area);
  ++position;
  ++counter_;
  ring_victim();
}

void Villain::say(std::string_view text) {
  shm::MessageHeader header = sound();
  char area[shm::kInlineBytes] = {};
  header.length = static_cast<std::uint32_t>(text.copy(area, sizeof(area)));
  publish(header, area);
}

std::uint64_t Villain::taken() const {
  const std::size_t bank = shown_.find_bank(key_);
  return bank == shm::kBanks ? 0 : shown_.bank(bank).cursors[0].observe();
}

void Villain::ring_victim() const { (void)wake::fence_and_ring(victim_status(), victim_event()); }

std::size_t Villain::open_receipts() {
  const std::size_t bank = shm::vacant_bank(link_);
  shm::open_bank(link_.bank(bank), shown_key_, 0, 0);
  return bank;
}

bool Villain::has_ended() {
  while (auto next = client_.try_next()) {
    const auto* ended = std::get_if<control::EndedAnnouncement>(&*next);
    if (ended == nullptr) continue;
    EXPECT_EQ(ended->pid, victim_);
    EXPECT_EQ((shm::LinkKey{ended->incarnation, ended->serial}), key_);
    ended_ = true;
    end_ = ended->what;
  }
  return ended_;
}

std::string Villain::await_end() {
  const Deadline deadline = patience();
  while (!has_ended()) {
    if (std::chrono::steady_clock::now() > deadline || client_.closed()) {
      ADD_FAILURE() << "the coordinator does not say that the link has ended";
      return {};
    }
    (void)os::wait_readable(client_.fd(), 100ms);
  }
  return end_;
}

}  // namespace beeline::test
