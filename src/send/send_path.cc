#include "src/send/send_path.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "shm/check.h"
#include "shm/strings.h"
#include "src/os/clock.h"

namespace beeline::send {

namespace {

// The sender prefetches a slot this many slots before its turn (docs/cache-lines.md, Prefetch
// distances).
constexpr std::uint64_t kSlotsAhead = 8;

// The extension and the payload behind it.
struct Joined {
  Joined(const shm::Extension& extension, std::span<const std::byte> payload) {
    std::memcpy(bytes, &extension, sizeof(extension));
    if (!payload.empty()) {
      std::memcpy(bytes + sizeof(extension), payload.data(), payload.size());
    }
  }
  unsigned char bytes[shm::kInlineBytes];
};

}  // namespace

// ---- The path of every message ------------------------------------------------------------------
// SUBTLE: one function in the end. The steps are taken into write_any(), and into write_plain(),
// because calls between them cost as much as they do; the rare steps are kept out of it.

inline void SendPath::follow_place(OutLink& link) {
  if (link.place == nullptr) return;
  const std::uint64_t word = link.place->observe();
  if (word != link.known_word) retarget(link, word);
}

inline SendStatus SendPath::check(OutLink& link, const Draft& draft) {
  follow_place(link);
  if (link.dead) return SendStatus::kPeerDead;
  if (!link.may_send) return SendStatus::kDenied;
  if (link.place == nullptr) return SendStatus::kFull;  // nobody can say now whether it lives
  const bool control = (draft.envelope.flags & shm::kFlagControl) != 0;
  return link.has_space(draft.lane(), control) ? SendStatus::kOk
                                               : find_space(link, draft.lane(), control);
}

inline shm::MessageHeader SendPath::head(const Draft& draft, Names names) {
  const Envelope& envelope = draft.envelope;
  const unsigned extended = envelope.extension != nullptr ? shm::kFlagExtended : 0U;
  return {.id = draft.id,
          .reply_to = envelope.reply_to,
          .sent_ns = last_sent_ns_,
          .ttl_ms = envelope.ttl_ms,
          .rank = envelope.rank,
          .length = static_cast<std::uint32_t>(draft.payload.size()),
          .type = names.type,
          .channel = names.channel,
          .flags = static_cast<std::uint16_t>(envelope.flags | extended),
          .hops = envelope.hops,
          .slab = shm::kNoSlab.value()};
}

inline void SendPath::put(OutLink& link, shm::Lane lane, const shm::MessageHeader& header,
                          std::uint64_t generation, const void* area) {
  shm::LaneWriter& writer = link.lanes[static_cast<std::size_t>(lane)];
  const std::uint64_t position = writer.tail();
  shm::prefetch_for_write(&link.view().slot(lane, position + kSlotsAhead));
  shm::publish_slot(link.view().slot(lane, position), position, header, generation, area);
  writer.advance();
  ++link.counts.sent;
  ++sends_of_thread;
}

inline SendStatus SendPath::publish(OutLink& link, shm::Lane lane, const shm::MessageHeader& header,
                                    std::uint64_t generation, const void* area) {
  const auto index = static_cast<std::size_t>(lane);
  last_place_ = {lane, link.lanes[index].tail()};
  put(link, lane, header, generation, area);
  link.awaited[index] = link.lanes[index].tail();
  next_slot_ = &link.view().slot(lane, link.lanes[index].tail());
  // SYNC(wake.publish): pairs with the sleeper's fence after it stored its status word.
  shm::full_fence();
  // SUBTLE: the directory word is loaded after the fence. A load before the publish alone strands
  // messages: the successor may have gone to sleep in between.
  follow_place(link);
  // Either we see here that the receiver is dead, or the successor that takes over its lanes sees
  // the message.
  if (link.dead) {
    ++link.counts.orphaned;
    return SendStatus::kPeerDead;
  }
  (void)wake::ring(link.bell, last_sent_ns_);
  return SendStatus::kOk;
}

inline void SendPath::name_slab(OutLink& link, const shm::SlabPool::Loan& slab,
                                shm::MessageHeader& header) {
  link.slabs.mark_out(slab);
  header.flags |= shm::kFlagSlab;
  header.slab = slab.slab.value();
}

inline TakenSlab SendPath::fill_slab(OutLink& link, const Draft& draft, Names names) {
  if (names.are_carried()) return fill_carrying(link, draft);
  if (draft.loan != nullptr) return std::exchange(*draft.loan, {});
  return fill_copy(link, draft.payload);
}

inline SendStatus SendPath::take_steps(OutLink& link, Draft draft) {
  BEELINE_DCHECK(draft.id != 0);
  const Envelope& envelope = draft.envelope;
  last_sent_ns_ = os::coarse_ns();  // first: nothing has to be kept from it
  if (const SendStatus status = check(link, draft); status != SendStatus::kOk) return status;
  Names names;
  if (!envelope.type.empty() || !envelope.channel.empty()) {
    if (const SendStatus status = name(link, envelope, names); status != SendStatus::kOk) {
      return status;
    }
  }
  if (draft.lies_inline() && !names.are_carried()) {
    if (envelope.extension == nullptr) {
      return publish(link, draft.lane(), head(draft, names), 0, draft.payload.data());
    }
    const Joined joined(*envelope.extension, draft.payload);
    return publish(link, draft.lane(), head(draft, names), 0, joined.bytes);
  }
  const TakenSlab slab = fill_slab(link, draft, names);
  if (!slab) return slab.status();
  shm::MessageHeader header = head(draft, names);
  name_slab(link, *slab, header);
  const SendStatus status =
      publish(link, draft.lane(), header, slab->generation, envelope.extension);
  prefetch_next_slab(link, slab->slab, draft.payload.size());
  return status;
}

SendStatus SendPath::write_any(OutLink& link, const Draft& draft) {
  return take_steps(link, draft);
}

// SUBTLE: the same function once more, for the compiler: it knows every field of this envelope.
SendStatus SendPath::write_plain(OutLink& link, std::span<const std::byte> payload,
                                 std::uint64_t id, shm::SlabPool::Loan* loan) {
  return take_steps(link, {payload, kPlainEnvelope, id, loan});
}

// ---- The rare steps -----------------------------------------------------------------------------

void SendPath::follow(OutLink& link) { follow_place(link); }

SendStatus SendPath::find_space(OutLink& link, shm::Lane lane, bool control) {
  if (link.receipts.bank == shm::kBanks) link.find_receipts();
  return link.has_space(lane, control) ? SendStatus::kOk : SendStatus::kFull;
}

TakenSlab SendPath::fill_copy(OutLink& link, std::span<const std::byte> payload) {
  const TakenSlab taken = link.take_slab(payload.size());
  if (taken) std::memcpy(link.slab_bytes(*taken), payload.data(), payload.size());
  return taken;
}

// The texts lie at the end of the slab, so there must be one. A loan that has no room for them is
// copied into another slab.
TakenSlab SendPath::fill_carrying(OutLink& link, Draft draft) {
  const std::size_t length = draft.payload.size();
  shm::SlabPool::Loan slab = draft.loan != nullptr ? *draft.loan : shm::SlabPool::Loan{};
  const bool has_room =
      slab.slab != shm::kNoSlab && length + shm::kCarriedBytes <= link.size_of(slab);
  if (!has_room) {
    const TakenSlab taken = link.take_slab(length, shm::kCarriedBytes);
    if (!taken) return taken;
    if (length != 0) std::memcpy(link.slab_bytes(*taken), draft.payload.data(), length);
    if (slab.slab != shm::kNoSlab) link.slabs.put_back(slab);
    slab = *taken;
  }
  if (draft.loan != nullptr) *draft.loan = {};
  shm::carry_texts(link.view(), slab.slab, draft.envelope.type, draft.envelope.channel);
  return slab;
}

// See docs/cache-lines.md, Prefetch distances.
void SendPath::prefetch_next_slab(const OutLink& link, shm::SlabIndex slab, std::size_t length) {
  if (length > shm::kBytesAhead) return;
  const shm::SlabIndex next = link.slabs.next(link.view().layout().class_of(slab));
  if (next == shm::kNoSlab) return;
  const std::byte* const lines = link.view().slab(next);
  for (std::size_t at = 0; at < length; at += shm::kLinePair) {
    shm::prefetch_for_write(lines + at);
  }
}

SendStatus SendPath::name(OutLink& link, const Envelope& envelope, Names& names) {
  const auto intern = [&](std::string_view text) {
    const bool is_copy = (envelope.flags & shm::kFlagCopy) != 0;
    return is_copy ? link.intern_for_copy(text) : link.intern(text);
  };
  if (!envelope.type.empty()) {
    const auto type = intern(envelope.type);
    if (!type) return type.error();
    names.type = *type;
  }
  if (!envelope.channel.empty()) {
    const auto channel = intern(envelope.channel);
    if (!channel) return channel.error();
    names.channel = *channel;
  }
  return SendStatus::kOk;
}

// Nobody is rung, so nothing is looked at after the publish either: where the receiver has another
// life meanwhile, the next message or look finds it.
void SendPath::write_copy(OutLink& parent, const Draft& original, std::uint32_t sibling) {
  follow(parent);
  const std::uint32_t half = parent.view().capacity(shm::Lane::kNormal) / 2;
  const bool open = !parent.dead && parent.may_send && parent.place != nullptr;
  shm::Extension extension{};
  if (original.envelope.extension != nullptr) extension = *original.envelope.extension;
  extension.cause = original.id;
  extension.addressee = sibling;
  Envelope envelope = original.envelope;
  envelope.rank = shm::kRankLow;
  envelope.ttl_ms = 0;
  envelope.flags =
      static_cast<std::uint16_t>(shm::kFlagCopy | (original.envelope.flags & shm::kFlagCut));
  envelope.extension = &extension;
  const auto payload = original.payload.first(std::min(original.payload.size(), kMaxCopyBytes));
  if (payload.size() < original.payload.size()) {
    envelope.flags |= shm::kFlagCut;
    extension.full_length = static_cast<std::uint32_t>(original.payload.size());
  }
  last_sent_ns_ = os::coarse_ns();
  if (parent.receipts.bank == shm::kBanks) parent.find_receipts();
  if (!open || !parent.has_room(shm::Lane::kNormal, half) ||
      !put_copy(parent, {payload, envelope})) {
    ++parent.counts.copies_dropped;
  }
}

bool SendPath::put_copy(OutLink& parent, Draft copy) {
  Names names;
  if (name(parent, copy.envelope, names) != SendStatus::kOk) return false;
  const std::size_t length = copy.payload.size();
  const std::size_t behind = names.are_carried() ? shm::kCarriedBytes : 0;
  if (behind == 0 && copy.lies_inline()) {
    const Joined joined(*copy.envelope.extension, copy.payload);
    copy.id = reserve_id();
    put(parent, shm::Lane::kNormal, head(copy, names), 0, joined.bytes);
    return true;
  }
  const TakenSlab taken = parent.take_copy_slab(length + behind);
  if (!taken) return false;
  if (length != 0) std::memcpy(parent.slab_bytes(*taken), copy.payload.data(), length);
  if (behind != 0) {
    shm::carry_texts(parent.view(), taken->slab, copy.envelope.type, copy.envelope.channel);
  }
  copy.id = reserve_id();
  shm::MessageHeader header = head(copy, names);
  name_slab(parent, *taken, header);
  put(parent, shm::Lane::kNormal, header, taken->generation, copy.envelope.extension);
  return true;
}

void SendPath::set_place(OutLink& link, std::uint32_t index, shm::Incarnation incarnation) {
  BEELINE_CHECK(index < shm::kMaxAgents, index, incarnation);
  link.directory_index = index;
  link.place = &directory_.word(index);
  link.dead = false;
  if (!link.first_life) link.first_life = incarnation;
  refresh(link);
}

void SendPath::refresh(OutLink& link) {
  if (link.place != nullptr) retarget(link, link.place->observe());
}

// As if its word were still there.
void SendPath::bury(OutLink& link, shm::Incarnation last_life) {
  retarget(link, shm::AgentWord{last_life, shm::AgentState::kDead}.pack());
}

bool SendPath::place_was_given_away(const OutLink& link) const {
  shm::AgentRecord record;
  return directory_.read_record(link.directory_index, record) && record.pid != link.peer();
}

void SendPath::retarget(OutLink& link, std::uint64_t word) {
  link.known_word = word;
  const shm::AgentWord agent = shm::AgentWord::unpack(word);
  link.bell = {};
  link.needs_peer = false;
  const PeerLife life = find_life_(link.peer(), agent.incarnation);
  link.dead = agent.state == shm::AgentState::kDead || agent.state == shm::AgentState::kVacant ||
              place_was_given_away(link);
  // The receipts of a life count, whether it has a process or not: the messages that it took are
  // taken. Until its successor reads them: if it was fenced and still runs, that one knows nothing
  // of what it takes and finishes from then on, and has it as well. The last one of all has no
  // successor.
  const bool is_followed = !link.dead && agent.state == shm::AgentState::kStarting;
  if (is_followed || (life.link == nullptr && !link.dead)) {
    link.stop_listening();
  } else if (life.link != nullptr && life.link != link.receipts.opposite) {
    link.turn_to(*life.link, agent.incarnation);
  }
  if (link.dead) return;
  if (agent.state != shm::AgentState::kRunning)
    return;  // nobody to ring; the lane keeps our messages
  if (!life.known) {
    link.needs_peer = true;
    return;
  }
  link.bell = life.bell;
  // Tells the new life that we ring it now; until all its senders say so it does not sleep for
  // long.
  link.view().control().watching.publish(agent.incarnation.value());
  // SYNC(wake.publish): copies lie in the lane without a fence behind them.
  shm::full_fence();
  if (link.not_taken() != 0) (void)wake::ring(link.bell, os::coarse_ns());
}

void SendPath::want_space(OutLink& link, SpaceFor whom, bool wanted) {
  const auto bit = static_cast<unsigned>(whom);
  unsigned& wanted_for = link.space.wanted_for;
  wanted_for = wanted ? wanted_for | bit : wanted_for & ~bit;
  link.view().control().space.relaxed_store(wanted_for != 0 ? 1 : 0);
  // SYNC(link.space): pairs with the receiver's fence between its receipt and its load of `space`.
  if (wanted) shm::full_fence();
}

}  // namespace beeline::send
