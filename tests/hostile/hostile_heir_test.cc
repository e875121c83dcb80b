// Leftovers of a liar: its next life is honest and inherits its receipts, and is neither blamed for
// them nor blocked by them. Without a next life, the coordinator reads its home for dead letters.
// Also the report to the owner of a link that its reader has ended.

#include <cstring>

#include "src/os/process.h"
#include "tests/hostile/stage.h"

namespace beeline::test {
namespace {

constexpr std::size_t kHeirBytes = 1000;  // a payload of this size lies in a slab
constexpr std::uint32_t kHeirMessages =
    600;  // more than the link has slabs, and more than its lane holds
constexpr int kHeirs = 2;
constexpr std::uint32_t kHeld = 100;  // the first heir is killed while it holds this many

// ---- The heir of a liar -------------------------------------------------------------------------

// Takes all its messages and finishes every slab with a generation that was never lent.
BEELINE_ROLE(stamper) {
  auto& board = context.board<HostileBoard>();
  Villain villain("reader", "victim", Villain::Stay::kForGood);
  shm::ReceiptBank& bank = villain.link().bank(villain.open_receipts());
  const auto done =
      villain.memory().allocate(villain.link().layout().stamps, shm::LinkLayout::kStampsBytes);
  ASSERT_TRUE(done) << done.error().text;
  for (shm::SlabIndex slab(0); slab.value() < shm::kMaxSlabs; ++slab) {
    villain.link().stamp(0, slab).publish(~0ULL - slab.value());
  }
  bank.stamps_ready.publish(1);
  // Its home tells the truth about the lane, so that no message comes again.
  const shm::Home home = villain.home();
  shm::open_row(home.row(shm::RowIndex(0)), villain.shown_key(), villain.victim(), 0, 0, 0);
  home.control().rows_allocated.publish(1);
  board.attacked.raise();
  std::uint64_t at = 0;
  while (board.is_over.count() == 0) {
    if (shm::is_published(villain.shown().slot(shm::Lane::kNormal, at), at)) ++at;
    home.row(shm::RowIndex(0)).cursors[0].publish(at);
    bank.cursors[0].publish(at);
    os::yield();
  }
}

std::vector<std::byte> numbered(std::uint32_t number) {
  std::vector<std::byte> payload(kHeirBytes);
  std::memcpy(payload.data(), &number, sizeof(number));
  return payload;
}

// The first heir is honest and finishes nothing: it is killed with all messages that it has taken.
BEELINE_ROLE(first_heir) {
  auto& board = context.board<HostileBoard>();
  auto agent = attach("reader", "victim");
  ASSERT_TRUE(agent);
  board.honest.raise();
  std::vector<Message> held;
  while (held.size() < kHeld) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid()) << "messages so far: " << held.size();
    std::uint32_t number = 0;
    ASSERT_EQ(message.payload().size(), kHeirBytes);
    std::memcpy(&number, message.payload().data(), sizeof(number));
    if (number == 0) {
      message.done();
      continue;
    }
    ASSERT_EQ(number, held.size() + 1);
    held.push_back(std::move(message));
  }
  board.arrived.raise();
  (void)board.left.await(1, patience());
}

// An honest agent under the name of the liar: all its messages come, once and in order.
BEELINE_ROLE(heir) {
  auto& board = context.board<HostileBoard>();
  auto agent = attach("reader", "victim");
  ASSERT_TRUE(agent);
  board.honest.raise();
  for (std::uint32_t next = 1; next <= kHeirMessages;) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid()) << "messages so far: " << next - 1;
    std::uint32_t number = 0;
    ASSERT_EQ(message.payload().size(), kHeirBytes);
    std::memcpy(&number, message.payload().data(), sizeof(number));
    if (number != 0) {  // otherwise it was sent to the liar, which had not taken it
      ASSERT_EQ(number, next);
      ++next;
    }
    message.done();
  }
  EXPECT_EQ(agent->counters().quarantined_links, 0U) << "the victim has lied to nobody";
  board.served.raise();
}

class HostileHeir : public HostileTest {};

TEST_F(HostileHeir, TheSuccessorOfALiarIsServedAndNotBlamed) {
  auto victim = attach("victim");
  ASSERT_TRUE(victim);
  const std::size_t liar = troupe().start("stamper");
  drain_until(*victim, [&] { return scene().attacked.count() != 0; });  // it answers links
  const Peer reader = peer_of(*victim, "reader");
  const Deadline deadline = patience();
  while (victim->counters().quarantined_links == 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "nobody notices the liar";
    (void)victim->send(reader, numbered(0));
    (void)victim->receive({.timeout = 1ms, .filter = kNobody});
  }
  scene().is_over.raise();
  troupe().wait(liar, patience());
  const auto send = [&](std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t number = first; number <= last; ++number) {
      const SendResult sent = victim->send_until(reader, numbered(number), patience());
      ASSERT_TRUE(sent) << "message " << number << ": " << to_string(sent.status);
    }
  };
  // The liar's stamps claim that all messages in slabs are finished. Its first heir inherits the
  // stamps, and the second must not believe them.
  const std::size_t first = troupe().start("first_heir");
  drain_until(*victim, [&] { return scene().honest.count() == 1; });
  send(1, kHeld);
  drain_until(*victim, [&] { return scene().arrived.count() == 1; });
  troupe().kill(first);
  // Each heir inherits its receipts from the one before.
  for (std::uint32_t life = 1; life <= kHeirs; ++life) {
    const std::size_t heir = troupe().start("heir");
    drain_until(*victim, [&] { return scene().honest.count() == life + 1; });
    send(life == 1 ? kHeld + 1 : 1, kHeirMessages);
    drain_until(*victim, [&] { return scene().served.count() == life; });
    troupe().wait(heir, patience());
  }
  EXPECT_EQ(victim->counters().quarantined_links, 1U) << "the liar's link alone";
  EXPECT_EQ(hive().status().quarantined_links, 1U);
  expect_balance(*victim);
}

// ---- A liar and the heir of its reader ----------------------------------------------------------

// Damages its link after its reader has mapped it: only the reader's next life can see that.
BEELINE_ROLE(vandal) {
  auto& board = context.board<HostileBoard>();
  Villain villain("vandal", "victim");
  villain.link().header().ready.publish(0);
  board.attacked.raise();
  const std::string what = villain.await_end();
  EXPECT_FALSE(what.empty());
  board.left.raise();
  ASSERT_TRUE(board.is_over.await(1, patience()));
}

TEST_F(HostileHeir, ALinkThatNoHeirCanReadIsReported) {
  auto victim = attach("victim");
  ASSERT_TRUE(victim);
  troupe().start("vandal");
  drain_until(*victim, [&] { return scene().attacked.count() != 0; });  // it answers links
  victim.reset();
  victim = attach("victim");
  ASSERT_TRUE(victim) << "an heir is not held up by it";
  drain_until(*victim, [&] { return scene().left.count() != 0; });
  await_log({"event=link_ended", "name=\"vandal\" "});
  scene().is_over.raise();
  troupe().wait_all(patience());
}

// ---- The home of a dead liar --------------------------------------------------------------------

// Two messages are sent to it. Its home claims that it has taken the first from the lane and
// handled the second, which it has not; then it ends.
BEELINE_ROLE(hoarder) {
  auto& board = context.board<HostileBoard>();
  Villain villain("hoarder", "victim");
  board.honest.raise();
  const auto slot = [&](std::uint64_t at) -> const shm::Slot& {
    return villain.shown().slot(shm::Lane::kNormal, at);
  };
  const Deadline deadline = patience();
  while (!shm::is_published(slot(1), 1)) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "the victim has not sent two";
    os::yield();
  }
  const shm::Home home = villain.home();
  shm::open_row(home.row(shm::RowIndex(0)), villain.shown_key(), villain.victim(), 1, 0, 0);
  home.control().rows_allocated.publish(1);
  home.control().next_arrival = 10;
  std::uint32_t count = 0;
  const auto add = [&](std::uint32_t position, shm::EntryState state, shm::DeadReason reason,
                       std::uint64_t arrival) {
    shm::SlotCopy copy{};
    shm::copy_slot(slot(position), copy);
    shm::Entry& entry = home.entry(shm::EntryIndex(count));
    entry.arrival = arrival;
    entry.header = copy.header;
    entry.header.flags = static_cast<std::uint16_t>(
        entry.header.flags | static_cast<unsigned>(reason) << shm::kReasonShift);
    std::memcpy(entry.payload, copy.payload, sizeof(entry.payload));
    entry.state.publish(shm::EntryWord{state, 0, shm::RowIndex(0), position}.pack());
    home.control().entries_allocated.publish(++count);
  };
  add(0, shm::EntryState::kLeased, shm::DeadReason::kNone, 1);
  add(1, shm::EntryState::kQueued, shm::DeadReason::kNone, 9);
  add(1, shm::EntryState::kLeased, shm::DeadReason::kNone, 9);
  add(1, shm::EntryState::kDead, shm::DeadReason::kRejected, 9);
  // Never counted, so it cannot have arrived long ago.
  add(1, shm::EntryState::kQueued, shm::DeadReason::kNone, 11);
}

TEST_F(HostileHeir, AMessageInTheHomeOfADeadLiarAndInItsLaneIsOneDeadLetter) {
  auto victim = attach("victim");
  ASSERT_TRUE(victim);
  const std::size_t liar = troupe().start("hoarder");
  drain_until(*victim, [&] { return scene().honest.count() != 0; });  // it answers links
  const Peer hoarder = peer_of(*victim, "hoarder");
  ASSERT_TRUE(victim->send(hoarder, "in its home"));
  ASSERT_TRUE(victim->send(hoarder, "in its lane"));
  troupe().wait(liar, patience());
  drain_until(*victim, [&] { return hive().log().find("event=taken_over") != std::string::npos; });
  EXPECT_EQ(hive().status().dead_letters, 2U) << "one for each";
}

// ---- The owner of an ended link -----------------------------------------------------------------

// Takes nothing, and reports lies about the victim's link: it may, because it reads that link.
BEELINE_ROLE(accuser) {
  auto& board = context.board<HostileBoard>();
  Villain villain("accuser", "victim");
  board.honest.raise();
  ASSERT_TRUE(board.arrived.await(1, patience()));
  const shm::LinkKey& key = villain.shown_key();
  ASSERT_TRUE(
      villain.client().report({"a slot of straw", villain.victim(), key.incarnation, key.serial}));
  ASSERT_TRUE(board.is_over.await(1, patience()));
}

TEST_F(HostileHeir, TheOwnerOfAnEndedLinkIsToldWhyAndDoesNotWaitForItsReader) {
  auto victim = attach("victim");
  ASSERT_TRUE(victim);
  troupe().start("accuser");
  drain_until(*victim, [&] { return scene().honest.count() != 0; });
  const Peer accuser = peer_of(*victim, "accuser");
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(victim->send(accuser, "never read"));
  scene().arrived.raise();
  drain_until(*victim, [&] { return victim->send(accuser, "x").status == SendStatus::kDenied; });
  const auto again = victim->peer("accuser");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kDenied);
  EXPECT_NE(again.error().text.find("a slot of straw"), std::string::npos) << again.error().text;
  // The reader lives and will take nothing, so a wait would last until the deadline.
  EXPECT_EQ(victim->detach(patience()), 0U);
  scene().is_over.raise();
  troupe().wait_all(patience());
}

}  // namespace
}  // namespace beeline::test
