// A peer that does harm without an obvious lie: it flips bytes at random, floods, reads nothing,
// lies in its receipts, steals the wakes of others, blames others. The victim loses no message of
// an honest agent meanwhile.

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <random>

#include "src/os/event_fd.h"
#include "src/os/process.h"
#include "tests/hostile/stage.h"
#include "tests/support/payload.h"

namespace beeline::test {
namespace {

class HostilePeer : public HostileTest {
 protected:
  // Runs the victim, an honest agent and one player of `villain`, until all honest messages have
  // come.
  void run(Agent& victim, const std::string& villain) {
    scene().attackers = 1;
    troupe().start("honest");
    troupe().start(villain);
    receive_all_honest(victim);
  }
  void end(const Agent& victim) {
    scene().is_over.raise();
    troupe().wait_all(patience());
    expect_balance(victim);
  }
};

// ---- The byte flipper ---------------------------------------------------------------------------

// Writes at random into all parts of a link that the victim reads, while it reads, and sends in
// between. Gives up once the link was ended, or after a while: then it has hit nothing important.
void flip_bytes(Villain& villain, std::mt19937_64& random) {
  const auto& layout = villain.link().layout();
  // Memory that the victim may read; the rest of the segment is not allocated.
  const auto done = villain.memory().allocate(layout.strings, layout.slabs[1] - layout.strings);
  ASSERT_TRUE(done) << done.error().text;
  std::byte* const slabs = villain.map_slabs();
  villain.link().control().slabs_allocated[0].publish(layout.classes[0].count);
  (void)villain.open_receipts();
  for (std::uint32_t i = 0; i < 4000; ++i) {
    if (i % 64 == 0 && villain.has_ended()) return;
    // Sections are chosen first, because otherwise all writes would go into the slabs. The header
    // was checked before.
    const std::uint64_t sections[] = {layout.control, layout.urgent, layout.normal,
                                      layout.strings, layout.stamps, layout.slabs[0],
                                      layout.slabs[1]};
    const std::size_t section = random() % (std::size(sections) - 1);
    const std::uint64_t length = sections[section + 1] - sections[section];
    std::byte* const start =
        sections[section] == layout.slabs[0] ? slabs : villain.memory().data() + sections[section];
    auto* byte = reinterpret_cast<volatile std::uint8_t*>(start) + random() % length;
    *byte = static_cast<std::uint8_t>(random());
    // A link that rings a later life of its reader is not read, so nothing in it would be hit.
    villain.link().control().watching.relaxed_store(0);
    if (i % 16 != 0) continue;
    shm::MessageHeader header = villain.sound();
    if (random() % 2 == 0) {
      header.flags = shm::kFlagSlab;
      header.slab = static_cast<std::uint32_t>(random() % layout.classes[0].count);
      header.length = 1000;
    }
    villain.publish(header, nullptr, i + 1);
  }
}

BEELINE_ROLE(flipper) {
  auto& board = context.board<HostileBoard>();
  ASSERT_TRUE(board.honest.await(1, patience()));
  std::mt19937_64 random(20'26);
  for (int life = 0; life < 40; ++life) {
    Villain villain("flipper-" + std::to_string(life), "victim");
    if (testing::Test::HasFailure()) break;
    if (life == 1) board.attacked.raise();
    flip_bytes(villain, random);
  }
  board.left.raise();
}

TEST_F(HostilePeer, BytesThatChangeWhileTheyAreReadHarmNobodyElse) {
  auto victim = attach("victim");
  ASSERT_TRUE(victim);
  run(*victim, "flipper");
  // The victim keeps looking until the last life of the flipper is over.
  drain_until(*victim, [&] { return scene().left.count() != 0; });
  EXPECT_GT(hive().status().quarantined_links, 10U) << "the flipper hardly hit anything";
  // Each owner is told, even if it is dead by then.
  drain_until(*victim, [&] {
    return hive().status().quarantined_links == victim->counters().quarantined_links;
  });
  await_log({"event=link_ended", "name=\"flipper-"});
  while (auto message = victim->try_receive()) message->done();
  end(*victim);
}

// ---- Floods -------------------------------------------------------------------------------------

BEELINE_ROLE(flooder) {
  auto& board = context.board<HostileBoard>();
  ASSERT_TRUE(board.honest.await(1, patience()));
  Villain villain("flooder", "victim");
  const std::uint64_t capacity = shm::kDefaultNormalSlots;
  std::uint64_t sent = 0;
  for (; sent < capacity; ++sent) villain.say("flood");  // as many as its lane holds
  board.attacked.raise();
  while (board.served.count() == 0 && !testing::Test::HasFailure()) {
    if (sent - villain.taken() >= capacity) continue;
    villain.say("flood");
    ++sent;
  }
}

TEST_F(HostilePeer, AFloodDelaysNobodyElseForEver) {
  AttachOptions options = named("victim");
  options.inbox_capacity = 64;  // full all the time
  auto victim = attach(options);
  ASSERT_TRUE(victim);
  run(*victim, "flooder");
  EXPECT_EQ(hive().status().quarantined_links, 0U) << "a flood is no lie";
  end(*victim);
}

// Blames the honest agent for lies that it did not tell, and itself for a link that does not exist.
BEELINE_ROLE(slanderer) {
  auto& board = context.board<HostileBoard>();
  ASSERT_TRUE(board.honest.await(1, patience()));
  Villain villain("slanderer", "victim");
  const auto agents = villain.client().list_all();
  ASSERT_TRUE(agents) << agents.error().text;
  for (const control::ListedAgent& each : *agents) {
    for (std::uint32_t serial = 0; serial < 4; ++serial) {
      ASSERT_TRUE(villain.client().report({"slander", each.pid, each.incarnation, serial}));
    }
  }
  ASSERT_TRUE(villain.client().status());  // its earlier reports have been handled
  board.attacked.raise();
  ASSERT_TRUE(board.is_over.await(1, patience()));
}

// Reports impossible contents of the victim's link.
BEELINE_ROLE(refuser) {
  auto& board = context.board<HostileBoard>();
  Villain villain("refuser", "victim");
  const shm::LinkKey& key = villain.shown_key();
  ASSERT_TRUE(villain.client().report({"slander", villain.victim(), key.incarnation, key.serial}));
  board.attacked.raise();
  ASSERT_TRUE(board.is_over.await(1, patience()));
}

TEST_F(HostilePeer, ABroadcastToAllNamesTheAgentThatEndedItsLink) {
  auto victim = attach("victim");
  ASSERT_TRUE(victim);
  troupe().start("refuser");
  drain_until(*victim, [&] { return scene().attacked.count() != 0 && !victim->peer("refuser"); });
  const auto told = victim->broadcast(Group::all(), "for everybody");
  ASSERT_EQ(told.size(), 1U) << "item 6: each target's outcome";
  EXPECT_EQ(told.front().name, "refuser");
  EXPECT_EQ(told.front().result.status, SendStatus::kDenied) << "no rule forbids it";
  scene().is_over.raise();
  troupe().wait_all(patience());
}

TEST_F(HostilePeer, NobodyCanEndALinkThatItDoesNotRead) {
  auto victim = attach("victim");
  ASSERT_TRUE(victim);
  run(*victim, "slanderer");
  await_log({"event=report_refused", "what=\"slander\"",
             " owner=" + std::to_string(scene().honest_pid.load()) + " "});
  // The only link that it reads is the victim's.
  EXPECT_EQ(hive().status().quarantined_links, 1U);
  await_log({"event=link_ended", "name=\"victim\"", "what=\"slander\""});
  end(*victim);
}

// ---- Receipts -----------------------------------------------------------------------------------

constexpr std::size_t kSlabBytes = 1000;

// The role's number: how the reader treats its receipts.
enum class Receipts : std::uint32_t { kNone, kCursorsAlone, kAhead, kBack, kStampNeverLent };

bool is_lie(Receipts how) { return how >= Receipts::kAhead; }

BEELINE_ROLE(reader) {
  auto& board = context.board<HostileBoard>();
  const auto how = static_cast<Receipts>(context.number);
  ASSERT_TRUE(board.honest.await(1, patience()));
  Villain villain("reader", "victim");
  shm::ReceiptBank& bank = villain.link().bank(villain.open_receipts());
  if (how == Receipts::kAhead) bank.cursors[0].publish(1'000'000);
  if (how == Receipts::kBack) {
    const Deadline deadline = patience();
    while (!shm::is_published(villain.shown().slot(shm::Lane::kNormal, 3), 3)) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "the victim sends nothing";
      os::yield();
    }
    bank.cursors[0].publish(4);
    constexpr std::uint64_t kNextRound = shm::kDefaultNormalSlots + 3;
    while (!shm::is_published(villain.shown().slot(shm::Lane::kNormal, kNextRound), kNextRound)) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "the victim believes no receipt";
      os::yield();
    }
    bank.cursors[0].publish(1);
  }
  if (how == Receipts::kStampNeverLent) {
    const auto& layout = villain.link().layout();
    const auto done = villain.memory().allocate(layout.stamps, shm::LinkLayout::kStampsBytes);
    ASSERT_TRUE(done) << done.error().text;
    for (shm::SlabIndex slab(0); slab.value() < shm::kMaxSlabs; ++slab) {
      villain.link().stamp(0, slab).publish(~0ULL);
    }
    bank.stamps_ready.publish(1);
  }
  board.attacked.raise();
  // Makes room in the lane, so that the victim needs slabs.
  if (how == Receipts::kCursorsAlone || how == Receipts::kStampNeverLent) {
    for (std::uint64_t at = 0; board.is_over.count() == 0 && !villain.has_ended();) {
      if (shm::is_published(villain.shown().slot(shm::Lane::kNormal, at), at)) ++at;
      bank.cursors[0].publish(at);
      os::yield();
    }
  }
  if (is_lie(how)) {
    EXPECT_NE(villain.await_end().find("receipt"), std::string::npos);
  }
  ASSERT_TRUE(board.is_over.await(1, patience()));
}

// The victim is the sender here. Its sends to the reader are refused once there is no room; its
// sends to the honest agent, which waits for them, are not.
class HostileReader : public HostilePeer {
 protected:
  void run_reader(Receipts how, std::size_t bytes) {
    auto victim = attach("victim");
    ASSERT_TRUE(victim);
    scene().attackers = 1;
    troupe().start("honest");
    troupe().start("reader", static_cast<std::uint32_t>(how));
    const Peer reader = peer_of(*victim, "reader");
    const std::vector<std::byte> payload(bytes);
    const Deadline deadline = patience();
    SendResult last;
    const auto is_named = [&] { return victim->counters().quarantined_links != 0; };
    do {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "it takes and takes";
      last = victim->send(reader, payload);
      (void)victim->receive({.timeout = 1ms, .filter = kNobody});
    } while (last || (is_lie(how) && !is_named()));
    EXPECT_EQ(last.status, SendStatus::kFull);
    receive_all_honest(*victim);
    EXPECT_EQ(is_named(), is_lie(how));
    EXPECT_EQ(hive().status().quarantined_links, is_named() ? 1U : 0U);
    if (is_named()) await_log({"event=link_ended", "name=\"reader\"", "receipt"});
    end(*victim);
  }
};

TEST_F(HostileReader, OneThatTakesNothingFillsItsOwnLinkAlone) { run_reader(Receipts::kNone, 8); }
TEST_F(HostileReader, OneThatFinishesNoPayloadFillsItsOwnSlabsAlone) {
  run_reader(Receipts::kCursorsAlone, kSlabBytes);
}
TEST_F(HostileReader, AReceiptForAnUnsentMessageIsNotBelieved) { run_reader(Receipts::kAhead, 8); }
TEST_F(HostileReader, AReceiptThatGoesBackIsNotBelieved) { run_reader(Receipts::kBack, 8); }
TEST_F(HostileReader, AStampForASlabThatWasNeverLentIsNotBelieved) {
  run_reader(Receipts::kStampNeverLent, kSlabBytes);
}

// ---- Wakes --------------------------------------------------------------------------------------

// Moves sleepers on the victim's status word to a word of ours, where nobody wakes them. Returns
// how many.
std::uint64_t steal_sleepers(const Villain& villain, std::uint32_t& our_word) {
  const long moved =
      ::syscall(SYS_futex, &villain.victim_status().sleep, FUTEX_REQUEUE, 0, INT_MAX, &our_word, 0);
  return moved > 0 ? static_cast<std::uint64_t>(moved) : 0;
}

BEELINE_ROLE(thief) {
  auto& board = context.board<HostileBoard>();
  ASSERT_TRUE(board.honest.await(1, patience()));
  Villain villain("thief", "victim");
  // Shared memory, because the kernel moves nobody from a shared word to a private one.
  SharedMemory ours(4096);
  auto& word = ours.as<std::uint32_t>();
  // The victim begins each wait on its status word and goes on on its eventfd. One message of ours
  // makes it begin a wait, another finds it further on, until we have caught it both ways: a theft
  // of nothing would prove nothing.
  const Deadline deadline = patience();
  std::uint64_t stolen = 0;
  std::uint64_t drained = 0;
  while (stolen == 0 || drained == 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline)
        << "the victim was found asleep on its status word " << stolen << " times, on its eventfd "
        << drained << " times; can FUTEX_REQUEUE be called?";
    const bool goes_on =
        shm::how_asleep(villain.victim_status().sleep.observe()) == shm::Sleep::kEvent;
    if (villain.taken() == villain.next_position() && (stolen == 0 || goes_on)) {
      villain.say("wake up");
    }
    stolen += steal_sleepers(villain, word);
    if (os::drain_event(villain.victim_event())) ++drained;
  }
  board.attacked.raise();
  while (board.arrived.count() < kHonestMessages) {
    stolen += steal_sleepers(villain, word);
    // Also drains the rings of others from its eventfd.
    (void)os::drain_event(villain.victim_event());
  }
  board.stolen.store(stolen);
  board.left.raise();
}

TEST_F(HostilePeer, StolenWakesDelayAndLoseNothing) {
  AttachOptions options = named("victim");
  options.wait = WaitMode::kSleep;  // it sleeps whenever it has no message
  auto victim = attach(options);
  ASSERT_TRUE(victim);
  run(*victim, "thief");
  EXPECT_TRUE(scene().left.await(1, patience()));
  EXPECT_GE(scene().stolen.load(), 1U) << "the victim slept on, and nobody could wake it";
  end(*victim);
}

// Takes one ring out of the eventfd of the victim, and waits for the next.
BEELINE_ROLE(pickpocket) {
  auto& board = context.board<HostileBoard>();
  Villain villain("thief", "victim");
  board.attacked.raise();
  ASSERT_TRUE(board.honest.await(1, patience()));
  EXPECT_TRUE(os::drain_event(villain.victim_event()));
  board.left.raise();
  EXPECT_TRUE(os::wait_readable(villain.victim_event(), std::chrono::minutes(1)));
  board.arrived.raise();
}

// A receiver that polls its fd makes no call that looks around by itself, so the sender rings it
// again.
TEST_F(HostilePeer, AReceiverWithAStolenWakeIsRungAgainByALaterMessage) {
  auto victim = attach("victim");
  auto sender = attach("sender");
  ASSERT_TRUE(victim && sender);
  const auto take_all = [&] {
    while (auto message = victim->try_receive()) message->done();
  };
  troupe().start("pickpocket");
  const Deadline deadline = patience();
  while (!scene().attacked.await(1, after(std::chrono::milliseconds(10)))) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    take_all();  // the link that it opens
  }
  const Peer to = peer_of(*sender, "victim");
  ASSERT_TRUE(victim->fd());
  ASSERT_TRUE(sender->send(to, "the first"));
  take_all();
  ASSERT_TRUE(sender->send(to, "its wake is stolen"));
  scene().honest.raise();
  ASSERT_TRUE(scene().left.await(1, patience()));
  // Even on a busy machine the pickpocket has time to report the ring before the lane is full.
  while (!scene().arrived.await(1, after(std::chrono::milliseconds(20)))) {
    ASSERT_TRUE(sender->send(to, "later")) << "the lane is full, and nobody was rung for it";
  }
  troupe().wait_all(patience());
}

// A bell that blocks its ringer: the eventfd is full, and its owner has made it blocking, which all
// holders share. And a status page that always says "asleep".
BEELINE_ROLE(trapper) {
  auto& board = context.board<HostileBoard>();
  ASSERT_TRUE(board.honest.await(1, patience()));
  Villain villain("trapper", "victim");
  const std::uint64_t most = ~0ULL - 1;
  ASSERT_EQ(::write(villain.event(), &most, sizeof(most)), 8);
  const int flags = ::fcntl(villain.event(), F_GETFL);
  ASSERT_EQ(::fcntl(villain.event(), F_SETFL, flags & ~O_NONBLOCK), 0);
  villain.status().sleep.publish(static_cast<std::uint32_t>(shm::Sleep::kEvent));
  board.attacked.raise();
  ASSERT_TRUE(board.arrived.await(kHonestMessages / 2, patience()));
  villain.status().sleep.publish(static_cast<std::uint32_t>(shm::Sleep::kFutex));
  ASSERT_TRUE(board.arrived.await(kHonestMessages, patience()));
  villain.status().sleep.publish(~0ULL);
  ASSERT_TRUE(board.is_over.await(1, patience()));
  std::uint64_t count = 0;
  ASSERT_EQ(::fcntl(villain.event(), F_SETFL, flags | O_NONBLOCK),
            0);  // an empty one would block us
  ASSERT_EQ(::read(villain.event(), &count, sizeof(count)), 8);
  EXPECT_EQ(count, most) << "it was not full all the time, so it was no trap";
}

TEST_F(HostilePeer, ABellThatIsATrapHoldsNobody) {
  auto victim = attach("victim");
  ASSERT_TRUE(victim);
  scene().attackers = 1;
  troupe().start("honest");
  troupe().start("trapper");
  const Peer trapper = peer_of(*victim, "trapper");
  ASSERT_TRUE(scene().attacked.await(1, patience()));
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(victim->send(trapper, "ring"));
  receive_all_honest(*victim);
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(victim->send(trapper, "ring"));
  end(*victim);
}

// ---- After the end of the coordinator -----------------------------------------------------------

BEELINE_ROLE(repeater) {
  auto& board = context.board<HostileBoard>();
  ASSERT_TRUE(board.honest.await(1, patience()));
  Villain villain("repeater", "victim");
  villain.say("before");
  shm::MessageHeader header = villain.sound();
  header.id = shm::make_message_id(villain.victim(), 1);
  villain.publish(header);
  EXPECT_FALSE(villain.await_end().empty());
  board.attacked.raise();
  ASSERT_TRUE(board.is_over.await(1, patience()));
}

TEST_F(HostilePeer, AnEndedLinkStaysSoForTheNextCoordinatorAndTheNextLifeOfItsReader) {
  {
    auto victim = attach("victim");
    ASSERT_TRUE(victim);
    run(*victim, "repeater");
    ASSERT_EQ(::kill(hive().coordinator(), SIGKILL), 0);
    drain_until(*victim,
                [&] { return hive().coordinator() != 0 && hive().status().restarts == 1; });
    EXPECT_EQ(hive().status().quarantined_links, 1U);
  }
  auto victim = attach("victim");
  ASSERT_TRUE(victim);
  EXPECT_EQ(victim->counters().drained, kHonestMessages + 2) << "all honest ones, and \"before\"";
  drain_what_fits(*victim);
  EXPECT_EQ(victim->counters().quarantined_links, 1U) << "inherited; its lanes are not looked at";
  EXPECT_EQ(hive().status().quarantined_links, 1U);
  end(*victim);
}

}  // namespace
}  // namespace beeline::test
