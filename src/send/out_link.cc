#include "src/send/out_link.h"

#include <algorithm>

#include "shm/strings.h"
#include "src/segment/names.h"

namespace beeline::send {

namespace {

constexpr std::uint64_t kGrowBytes = 64ULL << 10;  // slabs are added in steps of at least this much

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
  auto memory = segment::Owned::create(segment::link_name(hive, owner, key, peer), layout.bytes,
                                       layout.first_extent);
  if (!memory) return tl::unexpected(memory.error());
  OutLink link(std::move(*memory), key, peer, contract);
  shm::init_link(link.view_, shm::link_identity(contract, owner, peer, key));
  return link;
}

void OutLink::find_receipts() {
  receipts.bank = receipts.opposite == nullptr ? shm::kBanks : receipts.opposite->find_bank(key_);
  receipts.stamps_ready = false;
  listen_anew();
}

// What the life before says is not heard once more: if it was fenced and still runs, it may have
// taken what the new one goes on to wait for.
void OutLink::turn_to(const shm::LinkView& opposite, std::uint64_t incarnation) {
  receipts.opposite = &opposite;
  find_receipts();
  if (incarnation == first_life || !find_stamps()) return;
  // SUBTLE: the cursors before the stamps. A slab whose message is taken in between is held for
  // unread; the other way round it would be given away while the message is read.
  static_cast<void>(not_taken());
  slabs.inherit(opposite, receipts.bank, unread_slabs());
}

std::bitset<shm::kMaxSlabs> OutLink::unread_slabs() const {
  std::bitset<shm::kMaxSlabs> unread;
  for (const shm::Lane lane : {shm::Lane::kNormal, shm::Lane::kUrgent}) {
    const shm::LaneWriter& writer = lanes[static_cast<std::size_t>(lane)];
    for (std::uint64_t at = writer.cursor(); at < writer.tail(); ++at) {
      const auto header = view_.slot(lane, at).header.load<shm::MessageHeader>();
      if ((header.flags & shm::kFlagSlab) != 0) unread.set(header.slab);
    }
  }
  return unread;
}

void OutLink::listen_anew() {
  for (shm::LaneWriter& lane : lanes) lane.listen_anew();
  slabs.listen_anew();
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
  static_cast<void>(not_taken());
  collect_slabs();
  receipts = {};
}

tl::expected<shm::SlabPool::Loan, ErrorCode> OutLink::take_slab(std::uint64_t bytes) {
  if (bytes > max_payload()) return tl::unexpected(ErrorCode::kTooBig);
  // A flood of small payloads must not take the memory of the large ones.
  int classes_left = 2;
  for (std::size_t c = slabs.class_for(bytes); c < shm::kSlabClasses && classes_left > 0; ++c) {
    if (view_.layout().classes[c].count == 0) continue;
    --classes_left;
    auto loan = take_from(c);
    if (loan || loan.error() != ErrorCode::kFull) return loan;
  }
  return tl::unexpected(ErrorCode::kFull);
}

tl::expected<shm::SlabPool::Loan, ErrorCode> OutLink::take_copy_slab(std::uint64_t bytes) {
  const std::size_t c = slabs.class_for(bytes);
  if (c == shm::kSlabClasses) return tl::unexpected(ErrorCode::kTooBig);
  const std::uint32_t half = view_.layout().classes[c].count / 2;
  if (slabs.busy(c) >= half) {
    if (receipts.bank == shm::kBanks) find_receipts();
    collect_slabs();
    if (slabs.busy(c) >= half) return tl::unexpected(ErrorCode::kFull);
  }
  return take_from(c);
}

tl::expected<shm::SlabPool::Loan, ErrorCode> OutLink::take_from(std::size_t slab_class) {
  auto loan = slabs.take(slab_class);
  if (loan.slab == shm::kNoSlab) {
    if (receipts.bank == shm::kBanks) find_receipts();
    if (find_stamps() && slabs.collect(slab_class, *receipts.opposite, receipts.bank) != 0) {
      loan = slabs.take(slab_class);
    }
  }
  if (loan.slab == shm::kNoSlab) {
    const auto grown = grow(slab_class);
    if (!grown) return tl::unexpected(ErrorCode::kNoMemory);
    if (*grown) loan = slabs.take(slab_class);
  }
  if (loan.slab == shm::kNoSlab) return tl::unexpected(ErrorCode::kFull);
  return loan;
}

Result<bool> OutLink::grow(std::size_t slab_class) {
  const shm::SlabClass& size = view_.layout().classes[slab_class];
  const std::uint32_t have = slabs.allocated(slab_class);
  if (have == size.count) return false;
  const auto step =
      static_cast<std::uint32_t>(std::max<std::uint64_t>(1, kGrowBytes / size.slab_bytes));
  const std::uint32_t want = std::min(size.count, have + step);
  const auto done = memory_.allocate(view_.layout().slabs[slab_class] + have * size.slab_bytes,
                                     (want - have) * size.slab_bytes);
  if (!done) return tl::unexpected(done.error());
  slabs.set_allocated(slab_class, want);
  // SYNC(link.extents): release, pairs with the receiver's observe before it verifies the memory.
  view_.control().slabs_allocated[slab_class].publish(want);
  return true;
}

tl::expected<std::uint16_t, ErrorCode> OutLink::intern(std::string_view text) {
  for (std::size_t i = 0; i < strings_.size(); ++i) {
    if (strings_[i] == text) return static_cast<std::uint16_t>(i + 1);
  }
  if (text.size() > shm::kMaxStringLength || strings_.size() >= shm::kMaxStrings) {
    return tl::unexpected(ErrorCode::kTooBig);
  }
  if (strings_.empty()) {
    const auto done = memory_.allocate(view_.layout().strings, shm::LinkLayout::kStringsBytes);
    if (!done) return tl::unexpected(ErrorCode::kNoMemory);
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
    writer.refresh(receipt(lane));
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

void OutLink::collect_slabs() {
  if (!find_stamps()) return;
  for (std::size_t c = 0; c < shm::kSlabClasses; ++c) {
    slabs.collect(c, *receipts.opposite, receipts.bank);
  }
}

}  // namespace beeline::send
