// Slots and receipts of a hostile peer while the victim drains, hands out, finishes and sends to
// it: a script with steps of both, in any order.

#include "src/os/clock.h"
#include "tests/fuzz/room.h"

namespace beeline::fuzz {
namespace {

enum class Step : std::uint8_t {
  kScribble,
  kPublish,
  kDrain,
  kFinish,
  kHonest,
  kAllocate,
  kSend,
  kReceipts,
  kLook,
  kCount
};

class Script {
 public:
  // The last byte sets the options of the victim.
  explicit Script(Bytes input)
      : room_(input.empty() ? 0 : input.back()), feed_(input), link_(room_.accept_hostile()) {
    FUZZ_DEMAND(link_ != nullptr);
    asked_.request_id = kAsked;
    asked_.from = kHostilePid;
    asked_.is_blocking = !input.empty() && input.back() >= 128;
    room_.victim().answers().expect(asked_);
    room_.to_hostile().receipts.opposite = &link_->view();
  }

  void run() {
    for (int i = 0; i < 200 && !feed_.empty(); ++i) {
      perform(
          static_cast<Step>(feed_.take<std::uint8_t>() % static_cast<std::uint8_t>(Step::kCount)));
    }
    room_.demand_sound_home();
    room_.honest_sends();
    room_.drain_and_finish();
    room_.demand_sound_home();
    if (asked_.entry != shm::kNoEntry) {
      room_.victim().done(room_.victim().take_reply(asked_));
      room_.drain_and_finish();
    }
    room_.victim().forget(asked_);
    room_.drain_and_finish();
    room_.demand_all_honest();
  }

 private:
  // As an agent that waits for an answer.
  void drain() {
    const shm::EntryIndex at = room_.victim().take_alone(asked_);
    if (at != shm::kNoEntry) {
      room_.look_at(at);
      FUZZ_DEMAND(room_.victim().entry(at).header.reply_to == kAsked);
      room_.victim().done(at);
    }
    (void)room_.victim().drain_turn();
  }

  void perform(Step step) {
    const shm::Link& own = room_.hostile().view();
    switch (step) {
      case Step::kScribble:
        // Mostly within the allocated memory, because a reader never looks beyond it.
        return scribble(feed_,
                        room_.hostile_bytes().subspan(
                            own.layout().control, own.layout().first_extent - own.layout().control),
                        4);
      case Step::kPublish:
        return publish();
      case Step::kDrain:
        return drain();
      case Step::kFinish:
        (void)room_.finish_one(feed_.take<std::uint8_t>());
        return;
      case Step::kHonest:
        return room_.honest_sends();
      case Step::kAllocate:
        return allocate();
      case Step::kSend:
        return send();
      case Step::kReceipts: {
        const std::size_t bank = feed_.below(shm::kBanks);
        shm::open_bank(own.bank(bank), room_.to_hostile().key(), feed_.take<std::uint8_t>(), 0);
        return;
      }
      default:
        room_.victim().audit().look_at_living();
        room_.victim().bury_expired();
        (void)room_.victim().has_urgent();
    }
  }

  // Publishes a sound message with some fields replaced by the input.
  void publish() {
    const shm::Lane lane =
        feed_.take<std::uint8_t>() % 4 == 0 ? shm::Lane::kUrgent : shm::Lane::kNormal;
    std::uint64_t& position = positions_[static_cast<std::size_t>(lane)];
    shm::MessageHeader header{};
    header.id = shm::make_message_id(kHostilePid, ++counter_);
    header.sent_ns = os::coarse_ns();
    header.slab = shm::kNoSlab.value();
    const auto which = feed_.take<std::uint16_t>();
    const auto set = [&](unsigned bit, auto& field) {
      if ((which >> bit & 1U) != 0) field = feed_.take<std::decay_t<decltype(field)>>();
    };
    set(0, header.flags);
    set(1, header.length);
    set(2, header.slab);
    set(3, header.type);
    set(4, header.channel);
    set(5, header.rank);
    set(6, header.ttl_ms);
    set(7, header.hops);
    set(8, header.reply_to);
    if ((which >> 9 & 7U) == 7U) set(12, header.id);
    set(13, header.sent_ns);
    if (header.reply_to % 4 == 1) header.reply_to = kAsked;
    if ((which >> 14 & 1U) != 0) header.length %= 2048;
    if ((which >> 15 & 1U) != 0) header.slab %= 4;
    if ((header.flags & shm::kFlagSlab) == 0 && (which & 4U) == 0)
      header.slab = shm::kNoSlab.value();
    unsigned char area[shm::kInlineBytes];
    for (auto& byte : area) byte = feed_.take<std::uint8_t>();
    shm::publish_slot(own().slot(lane, position), position, header, counter_, area);
    ++position;
  }

  // Allocates memory and announces it, perhaps more than there is.
  void allocate() {
    const auto& layout = own().layout();
    const auto what = feed_.take<std::uint8_t>();
    if (what % 2 == 0) {
      if (what % 4 == 0) {
        FUZZ_DEMAND(
            room_.hostile().memory().allocate(layout.strings, shm::LinkLayout::kStringsBytes));
        scribble(feed_, room_.hostile_bytes().subspan(layout.strings, 256), 4);
      }
      own().control().string_count.publish(feed_.take<std::uint8_t>());
      return;
    }
    const std::size_t c = feed_.below(2);
    const std::uint32_t count = feed_.below(8);
    if (what % 4 == 1) {
      FUZZ_DEMAND(room_.hostile().memory().allocate(layout.slabs[c],
                                                    count * layout.classes[c].slab_bytes + 1));
    }
    own().control().slabs_allocated[c].publish(count);
  }

  // The victim's sender reads its receipts, which lie in the hostile link.
  void send() {
    send::OutLink& out = room_.to_hostile();
    out.find_receipts();
    FUZZ_DEMAND(out.not_taken() <= out.lanes[0].tail() + out.lanes[1].tail());
    if (out.has_space(shm::Lane::kNormal, false)) {
      const auto loan = out.take_slab(1 + feed_.below(2000));
      if (loan) {
        FUZZ_DEMAND(loan->slab.value() < out.view().layout().total_slabs());
        out.slabs.mark_out(*loan);
      }
      out.lanes[0].advance();
    }
    FUZZ_DEMAND(out.lanes[0].tail() - out.lanes[0].cursor() <= kContract.normal_slots);
    (void)out.was_lied_to();
  }

  [[nodiscard]] const shm::Link& own() { return room_.hostile().view(); }

  static constexpr std::uint64_t kAsked = shm::make_message_id(kVictimPid, 1);

  Room room_;
  receive::PendingReply asked_;
  Feed feed_;
  receive::InLink* link_;
  std::uint64_t positions_[shm::kLanes] = {0, 0};
  std::uint64_t counter_ = 0;
};

BEELINE_FUZZ_TARGET(lanes) { Script(input).run(); }

}  // namespace
}  // namespace beeline::fuzz
