// Operations of a successor and the coordinator, and the forgetting of a link; swept instruction by
// instruction.

#include <utility>

#include "tests/killpoints/scenario.h"

namespace beeline::killpoints {
namespace {

// The memory exists already; the swept operation writes it.
Operation take_over() {
  return {"take-over",
          Actor::kSuccessor,
          [](Rig& rig) {
            rig.next = &rig.world.make_life(rig.world.receiver());
            (void)need(rig.next->receiver->home().vacant_row());
          },
          [](Rig& rig) {
            const auto done = World::inherit(*rig.next, rig.world.receiver(), {&rig.sender()});
            if (!done) return;
            rig.world.name(*rig.next);
            rig.next->receiver->settle_adopted();
            rig.next->receiver->ring_all_for_space();
          },
          [](Rig& rig) {
            if (&rig.world.life_that_counts(rig.world.receiver()) != rig.next) {
              throw RigError{"the take-over did not come to its end"};
            }
          },
          "empty one* half* full* wrapped* mixed table-full handed-over fifo* strict*"};
}

// A liar claims to have taken and finished all messages in the lanes, and its sender has read that.
void tell_that_all_is_finished(Life& liar, send::OutLink& link) {
  const receive::InLink& in = *liar.receiver->links().all().front();
  if (!receive::ensure_stamps(in.sink())) throw RigError{"there is no memory for stamps"};
  for (const shm::Lane lane : {shm::Lane::kNormal, shm::Lane::kUrgent}) {
    const auto index = static_cast<std::size_t>(lane);
    const std::uint64_t tail = link.lanes[index].tail();
    for (std::uint64_t at = link.lanes[index].cursor(); at < tail; ++at) {
      shm::SlotCopy copy{};
      shm::copy_slot(link.view().slot(lane, at), copy);
      if ((copy.header.flags & shm::kFlagSlab) == 0) continue;
      shm::stamp(liar.out->view().stamp(in.sink().bank, shm::slab_of(copy.header)),
                 copy.generation);
    }
    liar.out->view().bank(in.sink().bank).cursors[index].publish(tail);
  }
  if (link.not_taken() != 0) throw RigError{"the sender has not heard the liar"};
  for (std::size_t c = 0; c < shm::kSlabClasses; ++c) link.collect_slabs(c);
}

// The same from a predecessor with impossible values in the cursors of its home and in its
// receipts.
Operation take_over_from_liar(std::string name, std::uint64_t in_home,
                              std::optional<std::uint64_t> in_receipts, std::string from) {
  Operation operation = take_over();
  operation.name = std::move(name);
  operation.bases = std::move(from);
  operation.meets_peer = false;
  operation.arrange = [=, arrange = operation.arrange](Rig& rig) {
    arrange(rig);
    Life& liar = rig.world.receiver();
    liar.lies = true;
    liar.takes_back = in_receipts.has_value();
    if (liar.takes_back) tell_that_all_is_finished(liar, *rig.sender().out);
    const receive::InLink& link = *liar.receiver->links().all().front();
    for (std::size_t lane = 0; lane < shm::kLanes; ++lane) {
      liar.home().row(link.row()).cursors[lane].publish(in_home);
      if (!in_receipts) continue;
      liar.out->view().bank(link.sink().bank).cursors[lane].publish(*in_receipts);
    }
  };
  return operation;
}

// The sender has ended, all messages are done, and the coordinator has said that the link is gone.
Operation forget_link() {
  return {"forget-link",
          Actor::kReceiver,
          [](Rig& rig) {
            rig.finish_lanes();
            rig.finish_all();
            receive::InLink& link = *rig.receiver().links().all().front();
            link.set_owner_gone(true);
            if (!link.faded()) throw RigError{"the link has not faded"};
            rig.faded = true;
          },
          [](Rig& rig) { rig.receiver().remove(*rig.receiver().links().all().front()); },
          [](Rig& /*rig*/) {},
          "empty one half full wrapped",
          false,
          false};
}

Operation publish_records(std::string name, std::uint32_t newcomers, std::uint32_t rounds) {
  return {std::move(name),
          Actor::kCoordinator,
          [=](Rig& rig) {
            control::DirectorySegment& directory = rig.world.directory();
            for (std::uint32_t i = 1; i < rounds; ++i) {
              if (!directory.publish()) throw RigError{"the directory cannot be published"};
            }
            rig.note_records();
            for (std::uint32_t i = 0; i < newcomers; ++i) {
              shm::AgentRecord record{};
              record.pid = 100 + i;
              record.parent_pid = kSenderPid;
              record.attached_ns = 0x0101010101010101ULL * (i + 1);
              std::memset(record.name, 'a' + static_cast<int>(i), sizeof(record.name));
              directory.set_record(need(directory.take_index()), record);
            }
          },
          [](Rig& rig) { (void)rig.world.directory().publish(); },
          [](Rig& rig) { rig.note_records(); },
          "empty handed-over",
          false,
          false};
}

Operation set_word() {
  return {"set-word",
          Actor::kCoordinator,
          [](Rig& rig) { rig.note_records(); },
          [](Rig& rig) {
            const Life& life = rig.world.receiver();
            rig.world.directory().set_word(life.index, {life.incarnation, shm::AgentState::kAway});
          },
          [](Rig& rig) { rig.note_records(); },
          "empty handed-over",
          false,
          false};
}

}  // namespace

std::vector<Operation> other_operations() {
  constexpr std::uint64_t kBeyond = ~0ULL;  // of all that was ever published
  return {take_over(),
          take_over_from_liar("take-over-behind", 0, std::nullopt, "wrapped* mixed* handed-over"),
          take_over_from_liar("take-over-beyond", kBeyond, std::nullopt, "half wrapped* mixed"),
          // Nothing was taken, the sender was told that all was, and now no record of it is left.
          take_over_from_liar("take-over-nowhere", kBeyond, kBeyond, "one* half* full"),
          forget_link(), publish_records("publish-two", 0, 1),
          publish_records("publish-again", 1, 2), publish_records("publish-many", 12, 1),
          set_word()};
}

}  // namespace beeline::killpoints
