#include "tests/killpoints/life.h"

#include <algorithm>

#include "src/os/clock.h"
#include "src/os/event_fd.h"
#include "tests/support/in_links.h"

namespace beeline::killpoints {
namespace {

constexpr std::uint64_t kEpoch = 5;
constexpr std::uint32_t kSenderIndex = 0;
constexpr std::uint32_t kReceiverIndex = 1;

std::byte* writable(const void* address) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(address));
}

// The engine hides its segments from children; these children have to share them, because they are
// killed on them.
void share_with_children(const void* address, std::size_t bytes) {
  ::madvise(writable(address), bytes, MADV_DOFORK);
}

std::uint32_t index_of(std::uint32_t pid) {
  return pid == kSenderPid ? kSenderIndex : kReceiverIndex;
}

shm::AgentRecord record_of(std::uint32_t pid) {
  shm::AgentRecord record{};
  record.pid = pid;
  record.parent_pid = 1;
  record.role = 5;
  return record;
}

receive::LinkOwner owner_of(const Life& owner) { return {owner.out->key(), owner.pid, {}}; }

void set_up(receive::InLink& link, const Life& owner) {
  link.set_relation(Relation::kSibling, false);
  link.begin_at(0, os::coarse_ns());
  link.set_bell(owner.world->find(owner.pid, owner.incarnation).bell);
}

// Does as Inheritance::inherit_link(), without a coordinator.
Result<void> inherit_link(Life& next, const Life& before, const Life& owner,
                          receive::Predecessor& predecessor) {
  auto mine = os::duplicate(before.out->memory().fd());
  if (!mine) return tl::unexpected(mine.error());
  auto memory = test::map_link(*owner.out, owner.pid);
  if (!memory) return tl::unexpected(memory.error());
  auto link = std::make_unique<receive::InLink>(std::move(*memory), kContract, owner_of(owner));
  set_up(*link, owner);
  link->show_receipts_in(
      {&next.out->view(), &next.out->memory(), shm::vacant_bank(next.out->view())});
  const auto done = receive::inherit_link(*next.receiver, predecessor, std::move(link),
                                          {std::move(*mine), before.out->key(), kContract});
  if (!done) return tl::unexpected(done.error());
  return {};
}

}  // namespace

Image Life::image() const {
  Image image;
  std::byte* const own_home = receiver->home().memory().data();
  const shm::HomeLayout& layout = home().layout();
  image.add(own_home, shm::kPage);
  image.add(own_home + layout.rows, home().rows_allocated() * sizeof(shm::InRow));
  image.add(own_home + layout.entries, home().entries_allocated() * sizeof(shm::Entry));
  image.add(own_home + layout.run, home().entries_allocated() * sizeof(shm::IndexNode));
  image.add(own_home + layout.heap, home().entries_allocated() * sizeof(shm::IndexNode));
  std::byte* const link = out->memory().data();
  const shm::LinkLayout& places = out->view().layout();
  image.add(link, places.first_extent);
  if (out->view().control().string_count.relaxed_load() != 0) {
    image.add(link + places.strings, shm::LinkLayout::kStringsBytes);
  }
  image.add(link + places.stamps, shm::LinkLayout::kStampsBytes);
  constexpr std::uint32_t kWatched[] = {kWatchedSlabs, kWatchedLargeSlabs};
  for (std::size_t c = 0; c < std::size(kWatched); ++c) {
    if (out->slabs.allocated(c) == 0) continue;
    image.add(out->view().slab(shm::SlabIndex(places.classes[c].first)),
              kWatched[c] * places.classes[c].slab_bytes);
  }
  return image;
}

World::World(const shm::HomeOptions& options)
    : options_(options),
      directory_(need(control::DirectorySegment::create(kHive, kEpoch, shm::kMinMaxPayload))),
      status_(need(segment::Owned::create("status", shm::kStatusBytes, shm::kStatusBytes))),
      bell_(need(os::create_event_fd())) {
  shm::init_status(status(), kReceiverPid, shm::Incarnation(1));
  share_with_children(status_.data(), status_.size());
  share_with_children(&directory_.view().header(), shm::DirectoryLayout::kBytes);
  for (const std::uint32_t pid : {kSenderPid, kReceiverPid}) {
    directory_.set_record(need(directory_.take_index()), record_of(pid));
  }
  if (!directory_.publish()) throw RigError{"the directory cannot be published"};
  sender_ = &add(kSenderPid, kReceiverPid, shm::Incarnation(1'000));
  receiver_ = &add(kReceiverPid, kSenderPid, shm::Incarnation(2'000));
  for (Life* life : {sender_, receiver_}) {
    life->receiver->home().set_ready();
    name(*life);
  }
  connect(*receiver_, *sender_);
  connect(*sender_, *receiver_);
  sender_->path.set_place(*sender_->out, kReceiverIndex, receiver_->incarnation);
  receiver_->path.set_place(*receiver_->out, kSenderIndex, sender_->incarnation);
}

Image World::directory_image(std::uint32_t records) const {
  using Layout = shm::DirectoryLayout;
  std::byte* const base = writable(&directory_.view().header());
  Image image;
  image.add(base, Layout::kWords + 64);
  image.add(base + Layout::kRecords0, records * sizeof(shm::AgentRecord));
  image.add(base + Layout::kRecords1, records * sizeof(shm::AgentRecord));
  return image;
}

Image World::image() const {
  Image image = directory_image(0);
  for (const auto& life : lives_) image.add(life->image());
  return image;
}

Life& World::life_that_counts(const Life& agent) {
  const shm::Incarnation named = directory_.view().agent(agent.index).incarnation;
  for (const auto& life : lives_) {
    if (life->pid == agent.pid && life->incarnation == named) return *life;
  }
  throw RigError{"the directory names a life that never was"};
}

Life& World::add(std::uint32_t pid, std::uint32_t peer, shm::Incarnation incarnation) {
  auto life = std::make_unique<Life>();
  life->world = this;
  life->pid = pid;
  life->peer = peer;
  life->index = index_of(pid);
  life->incarnation = incarnation;
  life->receiver = std::make_unique<receive::Receiver>(
      need(receive::HomeMemory::create(kHive, pid, incarnation, options_)));
  life->out.emplace(need(send::OutLink::create(kHive, pid, peer, {incarnation, 1}, kContract)));
  life->shown.emplace(life->out->memory().data(), kContract);
  share_with_children(life->receiver->home().memory().data(),
                      life->receiver->home().memory().size());
  const segment::Owned& link = life->out->memory();
  const shm::LinkLayout layout(kContract);
  // The area of stamps and slabs is compared before any exist.
  const std::uint64_t end = layout.slabs[1] + kWatchedLargeSlabs * layout.classes[1].slab_bytes;
  if (!link.allocate(layout.strings, end - layout.strings)) {
    throw RigError{"no memory for what is watched"};
  }
  life->whole = need(os::Mapping::map_part_readable(link.fd(), {0, layout.bytes}));
  // With the first pages of its slabs behind it: windows that are mapped later are shared like
  // these.
  share_with_children(link.data(), link.mapped_bytes());
  make_path(*life);
  lives_.push_back(std::move(life));
  return *lives_.back();
}

void World::make_path(Life& life) {
  life.path = send::SendPath(
      life.pid, life.home().control().reserved_ids,
      [this](std::uint32_t pid, shm::Incarnation incarnation) { return find(pid, incarnation); });
  life.path.set_directory(directory_.view());
}

send::PeerLife World::find(std::uint32_t pid, shm::Incarnation incarnation) const {
  for (const auto& life : lives_) {
    if (life->pid != pid || life->incarnation != incarnation) continue;
    return {{&status(), bell_.get()}, &*life->shown, true};
  }
  return {};
}

void World::connect(Life& reader, Life& owner) {
  const shm::RowIndex row = need(reader.receiver->home().vacant_row());
  auto link = std::make_unique<receive::InLink>(need(test::map_link(*owner.out, owner.pid)),
                                                kContract, owner_of(owner));
  set_up(*link, owner);
  link->place_in_row(row);
  shm::open_row(reader.home().row(row), link->key(), owner.pid, 0, 0, 0);
  const std::size_t bank = shm::vacant_bank(reader.out->view());
  link->show_receipts_in({&reader.out->view(), &reader.out->memory(), bank});
  shm::open_bank(reader.out->view().bank(bank), link->key(), 0, 0);
  reader.receiver->add(std::move(link));
}

Life& World::make_life(const Life& before) {
  shm::Incarnation last;
  for (const auto& life : lives_) {
    if (life->pid == before.pid) last = std::max(last, life->incarnation);
  }
  return add(before.pid, before.peer, last + 1);
}

Result<void> World::inherit(Life& next, const Life& before, const std::vector<Life*>& peers) {
  auto fd = os::duplicate(before.receiver->home().fd());
  if (!fd) return tl::unexpected(fd.error());
  auto old = receive::OldHome::accept(std::move(*fd), before.pid, before.incarnation);
  if (!old) return tl::unexpected(old.error());
  receive::Predecessor predecessor(std::move(*old), peers.size());
  for (const Life* peer : peers) {
    if (auto done = inherit_link(next, before, *peer, predecessor); !done) return done;
  }
  if (auto done = receive::inherit_home(*next.receiver, predecessor); !done) return done;
  next.world->make_path(next);
  next.receiver->home().set_ready();
  return {};
}

void World::name(const Life& life) {
  directory_.set_word(life.index, {life.incarnation, shm::AgentState::kRunning});
}

void World::fall_asleep() {
  auto& sleep = status().sleep;
  sleep.relaxed_store(shm::next_sleep(sleep.relaxed_load(), shm::Sleep::kEvent));
}

bool World::wake_up() {
  auto& sleep = status().sleep;
  sleep.relaxed_store(shm::awake_after(sleep.relaxed_load()));
  return os::drain_event(bell_.get());
}

void World::forget(const Life& life) {
  std::erase_if(lives_, [&](const auto& other) { return other.get() == &life; });
}

}  // namespace beeline::killpoints
