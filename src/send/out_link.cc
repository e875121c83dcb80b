#include "src/send/out_link.h"

#include <algorithm>
#include <array>

#include <beeline/types.h>

#include "shm/check.h"
#include "shm/strings.h"
#include "src/os/clock.h"
#include "src/segment/names.h"
#include "src/send/shortage.h"

namespace beeline::send {

namespace {

// A class grows by as many slabs as it has, by at least the first number of bytes and at most the
// second. Small slabs are few at first: their lines are used again while they are in the nearest
// cache.
constexpr std::uint64_t kFirstBytes = 8ULL << 10;
constexpr std::uint64_t kStepBytes = 64ULL << 10;
// The reader counts verified memory by pages, each once.
static_assert(kFirstBytes % shm::kPage == 0 && kStepBytes % shm::kPage == 0);

// A class that is collected so often within so long is in use all the time. It gets up to so many
// slabs, if they take no more memory than this.
constexpr std::uint32_t kOften = 16;
constexpr std::int64_t kOftenWithinNs = 1'000'000'000;
constexpr std::uint32_t kFewSlabs = 4;
constexpr std::uint64_t kFewBytes = (16ULL << 20) + kFewSlabs * shm::kPage;

// A receiver acts on these by their number, so each has a place in the table.
constexpr std::array kKnownTypes = {kEscalation, kCancelOrder, kTaskResponse};

}  // namespace

OutLink::OutLink(segment::Owned memory, const shm::LinkKey& key, std::uint32_t peer,
                 const shm::LinkContract& contract)
    : slabs(shm::LinkLayout(contract)),
      memory_(std::move(memory)),
      view_(memory_.data(), contract),
      key_(key),
      peer_(peer) {}

Result<OutLink> OutLink::create(const std::string& hive, std::uint32_t owner, std::uint32_t peer,
                                const shm::LinkKey& key, const shm::LinkContract& contract) {
  const shm::LinkLayout layout(contract);
  auto memory = segment::Owned::create_link(segment::link_name(hive, owner, key, peer), layout);
  if (!memory) {
    note_shortage(memory.error());
    return tl::unexpected(memory.error());
  }
  OutLink link(std::move(*memory), key, peer, contract);
  shm::init_link(link.view_, shm::link_identity(contract, owner, peer, key));
  return link;
}

template <typename Visit>
void OutLink::each_unread_slab(Visit&& visit) const {
  for (const shm::Lane lane : {shm::Lane::kNormal, shm::Lane::kUrgent}) {
    const shm::LaneWriter& writer = lanes[static_cast<std::size_t>(lane)];
    for (std::uint64_t at = writer.cursor(); at < writer.tail(); ++at) {
      const shm::Slot& slot = view_.slot(lane, at);
      const auto header = slot.header.load<shm::MessageHeader>();
      if ((header.flags & shm::kFlagSlab) == 0) continue;
      visit(shm::SlabPool::Loan{shm::slab_of(header),
                                slot.generation.relaxed_load()});  // our own words
    }
  }
}

void OutLink::find_receipts() {
  receipts.bank = receipts.opposite == nullptr ? shm::kBanks : receipts.opposite->find_bank(key_);
  receipts.stamps_ready = false;
  const std::array<shm::LaneWriter, shm::kLanes> before = {lanes[0], lanes[1]};
  for (const shm::Lane lane : {shm::Lane::kNormal, shm::Lane::kUrgent}) {
    lanes[static_cast<std::size_t>(lane)].listen_to(receipt(lane), view_.capacity(lane));
  }
  if (!still_counts()) {
    std::copy(before.begin(), before.end(), lanes);
    receipts.bank = shm::kBanks;  // they are looked for once more
    return;
  }
  slabs.listen_anew();
  if (receipts.inherited && receipts.bank != shm::kBanks) go_on_with_heir();
}

// Ignore receipts of the receiver's previous life from here on: it may have lied, or been fenced
// after taking messages that its successor is owed. Keep every slot and slab that the successor has
// not taken, as far as they were not given to other messages.
void OutLink::turn_to(const shm::LinkView& opposite, shm::Incarnation incarnation) {
  receipts = {.opposite = &opposite, .inherited = incarnation != first_life};
  find_receipts();
}

// SUBTLE: the cursors before the stamps. A slab whose message is taken in between is held for
// unread; the other way round it would be given away while the message is read.
void OutLink::go_on_with_heir() {
  each_unread_slab([this](const shm::SlabPool::Loan& loan) { slabs.take_back(loan); });
  if (find_stamps()) slabs.inherit(*receipts.opposite, receipts.bank, unread_slabs());
}

std::bitset<shm::kMaxSlabs> OutLink::unread_slabs() const {
  std::bitset<shm::kMaxSlabs> unread;
  each_unread_slab([&](const shm::SlabPool::Loan& loan) { unread.set(loan.slab.value()); });
  return unread;
}

// If a life inherited nothing, its stamps are never older than the messages in a lane.
std::bitset<shm::kMaxSlabs> OutLink::slabs_to_keep() {
  if (!receipts.inherited) return {};
  (void)not_taken();
  return unread_slabs();
}

// SYNC(fence.full): pairs with that of the successor, which was told that it is starting, before it
// reads (OldHome::accept). Either it sees the receipts that we read, or we see that word. The dead
// have no successor. relaxed: a number alone.
bool OutLink::still_counts() const {
  if (place == nullptr || dead) return true;
  shm::full_fence();
  return place->relaxed_load() == known_word;
}

// A receiver that took this life for dead may have given the bank to another: that is no lie.
bool OutLink::was_lied_to() {
  const bool lied = lanes[0].lied_to() || lanes[1].lied_to() || slabs.lied_to();
  if (!lied || receipts.bank == shm::kBanks) return false;
  if (receipts.opposite->find_bank(key_) == receipts.bank) return true;
  find_receipts();
  return false;
}

void OutLink::drop_receipts() {
  (void)not_taken();
  for (std::size_t c = 0; c < shm::kSlabClasses; ++c) collect_slabs(c);
  receipts = {};
}

TakenSlab OutLink::take_slab(std::uint64_t bytes, std::uint64_t texts) {
  if (bytes > max_payload()) return SendStatus::kTooBig;
  // A flood of small payloads must not take the memory of the large ones.
  int classes_left = 2;
  for (std::size_t c = slabs.class_for(bytes + texts); c < shm::kSlabClasses && classes_left > 0;
       ++c) {
    if (view_.layout().classes[c].count == 0) continue;
    --classes_left;
    const TakenSlab loan = take_from(c);
    if (loan || loan.status() != SendStatus::kFull) return loan;
  }
  return SendStatus::kFull;
}

TakenSlab OutLink::take_copy_slab(std::uint64_t bytes) {
  const std::size_t c = slabs.class_for(bytes);
  if (c == shm::kSlabClasses) return SendStatus::kTooBig;
  const std::uint32_t half = view_.layout().classes[c].count / 2;
  if (slabs.busy(c) >= half) {
    if (receipts.bank == shm::kBanks) find_receipts();
    collect_slabs(c);
    if (slabs.busy(c) >= half) return SendStatus::kFull;
  }
  return take_from(c);
}

TakenSlab OutLink::take_from(std::size_t slab_class) {
  auto loan = slabs.take(slab_class);
  if (loan.slab == shm::kNoSlab) {
    if (receipts.bank == shm::kBanks) find_receipts();
    if (collect_slabs(slab_class)) {
      ease(slab_class);
      loan = slabs.take(slab_class);
    }
  }
  if (loan.slab == shm::kNoSlab) {
    const auto grown = grow(slab_class);
    if (!grown) return SendStatus::kNoMemory;
    if (*grown) loan = slabs.take(slab_class);
  }
  if (loan.slab == shm::kNoSlab) return SendStatus::kFull;
  return loan;
}

// A class that is in use all the time gets some more slabs, if there is memory: then the stamps are
// looked at more seldom (docs/cache-lines.md, Prefetch distances).
void OutLink::ease(std::size_t slab_class) {
  const std::uint32_t more = slabs.allocated(slab_class) + 1;
  const std::uint64_t slab_bytes = view_.layout().classes[slab_class].slab_bytes;
  if (more > kFewSlabs || more * slab_bytes > kFewBytes) return;
  Use& use = use_[slab_class];
  if (++use.collected < kOften) return;
  const std::int64_t now_ns = os::coarse_ns();
  if (now_ns - use.since_ns < kOftenWithinNs) (void)grow(slab_class);
  use = {0, now_ns};
}

Result<bool> OutLink::grow(std::size_t slab_class) {
  const shm::SlabClass& size = view_.layout().classes[slab_class];
  const std::uint32_t have = slabs.allocated(slab_class);
  if (have == size.count) return false;
  const std::uint64_t least = std::max<std::uint64_t>(1, kFirstBytes / size.slab_bytes);
  const std::uint64_t most = std::max<std::uint64_t>(1, kStepBytes / size.slab_bytes);
  const auto step = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(have, least, most));
  const std::uint32_t want = std::min(size.count, have + step);
  Result<void> done;
  for (std::uint32_t slab = have; done && slab < want; ++slab) {
    done = memory_.open_window(view_, shm::SlabIndex(size.first + slab));
  }
  if (done) {
    done = memory_.allocate(view_.layout().slabs[slab_class] + have * size.slab_bytes,
                            (want - have) * size.slab_bytes);
  }
  if (!done) {
    note_shortage(done.error());
    return tl::unexpected(done.error());
  }
  slabs.set_allocated(slab_class, want);
  // SYNC(link.extents): release, pairs with the receiver's observe before it verifies the memory.
  view_.control().slabs_allocated[slab_class].publish(want);
  return true;
}

std::uint16_t OutLink::number_of(std::string_view text) const {
  BEELINE_CHECK(!text.empty());
  for (std::size_t i = 0; i < strings_.size(); ++i) {
    if (strings_[i] == text) return static_cast<std::uint16_t>(i + 1);
  }
  return 0;
}

tl::expected<std::uint16_t, SendStatus> OutLink::intern(std::string_view text) {
  if (const std::uint16_t number = number_of(text); number != 0) return number;
  const bool is_known =
      std::find(kKnownTypes.begin(), kKnownTypes.end(), text) != kKnownTypes.end();
  return add(text, is_known ? shm::kMaxStrings : shm::kMaxStrings - kKnownTypes.size());
}

tl::expected<std::uint16_t, SendStatus> OutLink::intern_for_copy(std::string_view text) {
  if (const std::uint16_t number = number_of(text); number != 0) return number;
  return add(text, shm::kMaxStrings / 2);
}

tl::expected<std::uint16_t, SendStatus> OutLink::add(std::string_view text, std::size_t most) {
  if (text.size() > shm::kMaxStringLength) return tl::unexpected(SendStatus::kTooBig);
  if (strings_.size() >= most) return shm::kCarriedText;
  if (strings_.empty()) {
    const auto done = memory_.allocate(view_.layout().strings, shm::LinkLayout::kStringsBytes);
    if (!done) {
      note_shortage(done.error());
      return tl::unexpected(SendStatus::kNoMemory);
    }
  }
  const std::uint32_t number = shm::append_string(view_, text);
  strings_.emplace_back(text);
  return static_cast<std::uint16_t>(number);
}

std::uint64_t OutLink::not_taken() {
  if (receipts.bank == shm::kBanks) find_receipts();
  std::uint64_t left = 0;
  for (const shm::Lane lane : {shm::Lane::kNormal, shm::Lane::kUrgent}) {
    shm::LaneWriter& writer = lanes[static_cast<std::size_t>(lane)];
    writer.refresh(receipt(lane), [this] { return still_counts(); });
    left += writer.tail() - writer.cursor();
  }
  return left;
}

std::uint64_t OutLink::still_awaited() {
  if (not_taken() == 0) return 0;
  std::uint64_t left = 0;
  for (std::size_t lane = 0; lane < shm::kLanes; ++lane) {
    const std::uint64_t cursor = lanes[lane].cursor();
    if (awaited[lane] > cursor) left += awaited[lane] - cursor;
  }
  return left;
}

bool OutLink::find_stamps() {
  if (!receipts.stamps_ready && receipts.bank != shm::kBanks) {
    receipts.stamps_ready = receipts.opposite->bank(receipts.bank).stamps_ready.observe() != 0;
  }
  return receipts.stamps_ready;
}

bool OutLink::collect_slabs(std::size_t slab_class) {
  if (!find_stamps()) return false;
  const auto kept = slabs_to_keep();
  const auto freed = slabs.collect(slab_class, *receipts.opposite, receipts.bank, kept,
                                   [this] { return still_counts(); });
  space.finished += freed;
  return freed != 0;
}

bool OutLink::has_more_room() {
  (void)not_taken();
  for (std::size_t c = 0; c < shm::kSlabClasses; ++c) collect_slabs(c);
  return space.refused_at != room_seen();
}

}  // namespace beeline::send
