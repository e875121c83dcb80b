// Unfinished messages of a finally dead agent become dead letters of the coordinator, whatever the
// agent and its senders have written.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/control/links.h"
#include "tests/support/dead_agent.h"

namespace beeline::control {
namespace {

using shm::DeadReason;
using shm::Lane;
using test::DeadAgent;
using Sender = DeadAgent::Sender;

class TakeoverTest : public testing::Test {
 protected:
  TakeoverTest() { begin(shm::kMinInboxCapacity); }

  void begin(std::uint32_t capacity) {
    agent_.emplace(capacity);
    sender_ = &agent_->join("sender");
  }
  void end() {
    agent_->die();
    ASSERT_TRUE(agent_->take_over()) << "the coordinator does not come to an end";
    EXPECT_TRUE(agent_->hive().takeovers.empty());
  }
  [[nodiscard]] Life& life() { return *agent_->hive().registry.agent(agent_->self().pid)->current; }
  [[nodiscard]] LinkEntry& in_link() { return *agent_->hive().registry.link(sender_->own->key()); }
  [[nodiscard]] shm::Home home() { return agent_->inbox().home().home(); }
  [[nodiscard]] std::string payload_of(std::uint64_t id) {
    const DeadLetter* letter = agent_->letter(id);
    return letter == nullptr ? "no letter" : letter->payload;
  }
  // The first `length` bytes of a segment, as a file that its owner has cut.
  static SharedFd cut_short(int fd, std::size_t length) {
    std::vector<std::byte> bytes(length);
    EXPECT_EQ(::pread(fd, bytes.data(), length, 0), static_cast<ssize_t>(length));
    os::UniqueFd file(::memfd_create("short", MFD_CLOEXEC));
    EXPECT_EQ(::pwrite(file.get(), bytes.data(), length, 0), static_cast<ssize_t>(length));
    return share(std::move(file));
  }
  // As the agent does between finishing the message in that slab and freeing its entry.
  void stamp_first_slab() {
    ASSERT_TRUE(receive::ensure_stamps(sender_->link->sink()));
    sender_->back->view().stamp(sender_->link->sink().bank, shm::SlabIndex(0)).publish(1);
  }
  // Changes the word of the entry that holds a message.
  template <typename How>
  void change(std::uint64_t id, How&& how) {
    for (shm::EntryIndex at(0); at.value() < home().entries_allocated(); ++at) {
      shm::Entry& entry = home().entry(at);
      if (entry.header.id != id) continue;
      shm::EntryWord word = entry.word();
      how(entry, word);
      entry.state.publish(word.pack());
      return;
    }
    FAIL() << "the message is not in the table";
  }

  std::optional<DeadAgent> agent_;
  Sender* sender_ = nullptr;
};

// ---- An honest agent ----------------------------------------------------------------------------

TEST_F(TakeoverTest, UnfinishedAndUntakenMessagesBecomeLetters) {
  const std::uint64_t done = DeadAgent::say(*sender_, "done");
  const std::uint64_t leased = DeadAgent::say(*sender_, "leased");
  const std::uint64_t rejected = DeadAgent::say(*sender_, "rejected");
  const std::uint64_t queued = DeadAgent::say(*sender_, "queued");
  receive::Receiver& inbox = agent_->inbox();
  inbox.drain_all();
  inbox.done(inbox.take());
  (void)inbox.take();
  inbox.bury(inbox.take(), DeadReason::kRejected);
  const std::uint64_t in_lane = DeadAgent::say(*sender_, "in the lane");
  const std::uint64_t urgent = DeadAgent::say(*sender_, "in the urgent lane", Lane::kUrgent);
  end();
  EXPECT_EQ(agent_->letters().size(), 5U);
  EXPECT_EQ(agent_->letter(done), nullptr);
  EXPECT_EQ(payload_of(leased), "leased");
  EXPECT_EQ(payload_of(queued), "queued");
  EXPECT_EQ(payload_of(in_lane), "in the lane");
  EXPECT_EQ(payload_of(urgent), "in the urgent lane");
  ASSERT_EQ(payload_of(rejected), "rejected");
  EXPECT_EQ(agent_->letter(rejected)->reason, DeadReason::kRejected) << "it keeps its reason";
  EXPECT_EQ(agent_->letter(leased)->reason, DeadReason::kReceiverDead);
  EXPECT_EQ(agent_->letter(leased)->from, sender_->caller.pid);
  EXPECT_EQ(agent_->letter(leased)->to_name, "victim");
}

TEST_F(TakeoverTest, SlabsWithoutAStampBecomeLetters) {
  const std::uint64_t finished = DeadAgent::say_large(*sender_, 500, 'f');
  const std::uint64_t left = DeadAgent::say_large(*sender_, 500, 'l');
  receive::Receiver& inbox = agent_->inbox();
  inbox.drain_all();
  inbox.done(inbox.take());
  end();
  EXPECT_EQ(agent_->letter(finished), nullptr);
  EXPECT_EQ(payload_of(left), std::string(500, 'l'));
}

// A kill between the stamp and the release of the entry.
TEST_F(TakeoverTest, AStampedMessageIsNoLetterAlthoughItsEntryStands) {
  const std::uint64_t id = DeadAgent::say_large(*sender_, 500, 'f');
  agent_->inbox().drain_all();
  stamp_first_slab();
  end();
  EXPECT_EQ(agent_->letter(id), nullptr);
}

// Each of the two needs the receipts in the other one's link, in whatever order they are read.
TEST_F(TakeoverTest, AStampCountsAlthoughTheOneThatItWasForIsDeadAndWasReadBefore) {
  const std::uint64_t finished = DeadAgent::say_large(*sender_, 500, 'f');
  const std::uint64_t held = DeadAgent::say(*sender_, "held");
  agent_->inbox().drain_all();
  stamp_first_slab();
  agent_->die(sender_->caller);
  ASSERT_TRUE(agent_->take_over());
  EXPECT_EQ(agent_->hive().registry.link_count(), 2U);
  end();
  EXPECT_EQ(agent_->letter(finished), nullptr);
  EXPECT_EQ(payload_of(held), "held");
  EXPECT_EQ(agent_->hive().registry.link_count(), 0U) << "nobody is left to read them";
}

TEST_F(TakeoverTest, AStampCountsAlthoughTheOneThatItWasForHasLetGoOfTheLink) {
  const std::uint64_t finished = DeadAgent::say_large(*sender_, 500, 'f');
  agent_->inbox().drain_all();
  stamp_first_slab();
  agent_->die();
  const shm::LinkKey back = sender_->back->key();
  fade_link(agent_->hive(), sender_->caller, {back.incarnation, back.serial, true});
  ASSERT_TRUE(agent_->take_over());
  EXPECT_EQ(agent_->letter(finished), nullptr);
  EXPECT_EQ(agent_->hive().registry.link_count(), 0U);
}

TEST_F(TakeoverTest, TypeChannelAndExtensionAreRead) {
  shm::MessageHeader header = DeadAgent::header_of(*sender_);
  header.type = *sender_->own->intern("task");
  header.channel = *sender_->own->intern("builds");
  header.flags = shm::kFlagExtended | shm::kFlagCut;
  header.length = 3;
  shm::Extension extension{};
  extension.full_length = 1'000'000;
  char area[shm::kInlineBytes] = {};
  std::memcpy(area, &extension, sizeof(extension));
  std::memcpy(area + sizeof(extension), "cut", 3);
  const std::uint64_t id = DeadAgent::publish(*sender_, header, Lane::kNormal, area);
  end();
  ASSERT_EQ(payload_of(id), "cut");
  const DeadLetter& letter = *agent_->letter(id);
  EXPECT_EQ(letter.type, "task");
  EXPECT_EQ(letter.channel, "builds");
  EXPECT_EQ(letter.header.length, 1'000'000U) << "what its sender meant to say";
}

TEST_F(TakeoverTest, CopiesAcknowledgementsAndOrdersToCancelAreMissedByNobody) {
  const shm::Extension none{};
  for (const std::uint16_t flag : {shm::kFlagCopy, shm::kFlagAck}) {
    shm::MessageHeader header = DeadAgent::header_of(*sender_);
    header.flags = static_cast<std::uint16_t>(flag | shm::kFlagExtended);
    char area[shm::kInlineBytes] = {};
    std::memcpy(area, &none, sizeof(none));
    DeadAgent::publish(*sender_, header, Lane::kNormal, area);
  }
  shm::MessageHeader order = DeadAgent::header_of(*sender_);
  order.flags = shm::kFlagControl;
  order.type = *sender_->own->intern(kCancelOrder);
  DeadAgent::publish(*sender_, order, Lane::kUrgent);
  shm::MessageHeader steer = DeadAgent::header_of(*sender_);
  steer.flags = shm::kFlagControl;
  const std::uint64_t id = DeadAgent::publish(*sender_, steer, Lane::kUrgent);
  end();
  ASSERT_EQ(agent_->letters().size(), 1U);
  EXPECT_NE(agent_->letter(id), nullptr) << "an order that does something is a letter";
}

TEST_F(TakeoverTest, ALargeTableIsReadInSteps) {
  constexpr std::uint32_t kCount = 600;
  begin(1024);
  for (std::uint32_t i = 0; i < kCount; ++i) {
    DeadAgent::say(*sender_, "message");
    agent_->inbox().drain_all();
  }
  end();
  EXPECT_EQ(agent_->letters().size(), kCount);
}

TEST_F(TakeoverTest, ALetterThatTheKeeperCannotKeepIsALetterAllTheSame) {
  DeadAgent::say(*sender_, "message");
  agent_->die();
  agent_->world().lose_keeper();
  EXPECT_TRUE(agent_->take_over());
  EXPECT_EQ(agent_->letters().size(), 1U);
}

// ---- Senders that may still send ----------------------------------------------------------------

TEST_F(TakeoverTest, ItWaitsForASenderThatReadsAnOlderDirectory) {
  DeadAgent::say(*sender_, "message");
  agent_->die();
  Life& owner = *agent_->world().life_of(sender_->caller);
  owner.sees_us = false;
  EXPECT_TRUE(agent_->take_over());
  EXPECT_EQ(agent_->hive().takeovers.size(), 1U) << "it may still send";
  EXPECT_TRUE(agent_->letters().empty());
  owner.ended = true;
  EXPECT_TRUE(agent_->take_over());
  EXPECT_EQ(agent_->letters().size(), 1U);
}

TEST_F(TakeoverTest, ASenderWithoutALifeOrARouteOrWithAFadedLinkIsNotWaitedFor) {
  agent_->world().life_of(sender_->caller)->sees_us = false;
  Sender& mute = agent_->join("mute");
  Sender& faded = agent_->join("faded");
  Sender& strange = agent_->join("strange");
  for (Sender* each : {sender_, &mute, &faded, &strange}) {
    DeadAgent::say(*each, "message");
    agent_->world().life_of(each->caller)->sees_us = false;
  }
  Registry& registry = agent_->hive().registry;
  registry.link(mute.own->key())->may_send = false;
  registry.link(faded.own->key())->faded = true;
  registry.link(strange.own->key())->owner = 4000;  // no agent has this pid
  registry.agent(sender_->caller.pid)->current->incarnation = shm::Incarnation(1'000'000);
  end();
  ASSERT_EQ(agent_->letters().size(), 1U);
  EXPECT_EQ(agent_->letters()[0].from, sender_->caller.pid);
}

// ---- Lies of the dead agent ---------------------------------------------------------------------

TEST_F(TakeoverTest, AnAgentThatIsNotThereOrWasNeverReadyLeavesItsLanes) {
  agent_->hive().takeovers.push_back(4000);
  DeadAgent::say(*sender_, "message");
  agent_->die();
  life().home = nullptr;
  ASSERT_TRUE(agent_->take_over());
  EXPECT_EQ(agent_->letters().size(), 1U);
  EXPECT_TRUE(agent_->hive().takeovers.empty());
}

// An unreadable file stands for a machine that lacks some resource for good.
TEST_F(TakeoverTest, AnAgentWithUnreadableLettersIsReportedOnce) {
  const os::UniqueFd log(::memfd_create("log", MFD_CLOEXEC));
  agent_->world().log_into(log.get());
  const auto unreadable = [] {
    return share(os::UniqueFd(::open("/dev/null", O_WRONLY | O_CLOEXEC)));
  };
  Sender& other = agent_->join("other");
  const std::uint64_t lost = DeadAgent::say(*sender_, "in the lane of one");
  const std::uint64_t found = DeadAgent::say(other, "in the lane of another");
  in_link().fd = unreadable();
  life().home = unreadable();
  end();
  EXPECT_EQ(agent_->letter(lost), nullptr);
  EXPECT_EQ(payload_of(found), "in the lane of another");
  std::string text(4096, '\0');
  text.resize(static_cast<std::size_t>(::pread(log.get(), text.data(), text.size(), 0)));
  const std::size_t first = text.find(
      "event=letters_unread agent=" + std::to_string(agent_->self().pid) + " name=\"victim\"");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find("event=letters_unread", first + 1), std::string::npos) << text;
}

TEST_F(TakeoverTest, WithoutALifeTheLanesAreLeft) {
  DeadAgent::say(*sender_, "message");
  agent_->die();
  agent_->hive().registry.agent(agent_->self().pid)->current = nullptr;
  ASSERT_TRUE(agent_->take_over());
  EXPECT_EQ(agent_->letters().size(), 1U);
}

TEST_F(TakeoverTest, NothingIsReadFromAHomeWithoutALegalCapacity) {
  DeadAgent::say(*sender_, "taken");
  agent_->inbox().drain_all();
  const std::uint64_t id = DeadAgent::say(*sender_, "in the lane");
  home().control().capacity = 17;
  end();
  // As if nothing had been taken: the slots still hold both.
  EXPECT_EQ(agent_->letters().size(), 2U);
  EXPECT_EQ(payload_of(id), "in the lane");
}

TEST_F(TakeoverTest, AHomeThatIsCutShortAnywhereLeavesTheLanes) {
  const shm::HomeLayout layout(shm::kMinInboxCapacity);
  const std::uint64_t control = layout.control;
  for (const std::uint64_t length : {control + offsetof(shm::HomeControl, next_arrival) + 4,
                                     control + offsetof(shm::HomeControl, rows_allocated) + 2,
                                     control + offsetof(shm::HomeControl, entries_allocated) + 2,
                                     layout.rows + 100, layout.entries + 100}) {
    SCOPED_TRACE(length);
    begin(shm::kMinInboxCapacity);
    DeadAgent::say(*sender_, "taken");
    agent_->inbox().drain_all();
    DeadAgent::say(*sender_, "in the lane");
    agent_->die();
    life().home = cut_short(agent_->inbox().home().fd(), length);
    ASSERT_TRUE(agent_->take_over());
    // If the rows can be read, so can the cursor.
    EXPECT_EQ(agent_->letters().size(), length > layout.entries ? 1U : 2U);
  }
}

TEST_F(TakeoverTest, CountsThatCannotBeAreNotBelieved) {
  DeadAgent::say(*sender_, "taken");
  agent_->inbox().drain_all();
  home().control().rows_allocated.publish(~0U);
  home().control().entries_allocated.publish(~0U);
  end();
  EXPECT_EQ(agent_->letters().size(), 1U);
}

TEST_F(TakeoverTest, CursorsThatCannotBeLoseNothingThatLiesInTheLane) {
  DeadAgent::say(*sender_, "first");
  const std::uint64_t second = DeadAgent::say(*sender_, "second");
  const std::uint64_t urgent = DeadAgent::say(*sender_, "urgent", Lane::kUrgent);
  for (auto& cursor : home().row(sender_->link->row()).cursors) cursor.publish(~0ULL);
  for (auto& cursor : sender_->back->view().bank(0).cursors) cursor.publish(~0ULL);
  end();
  EXPECT_EQ(agent_->letters().size(), 3U);
  EXPECT_EQ(payload_of(second), "second");
  EXPECT_EQ(payload_of(urgent), "urgent");
}

TEST_F(TakeoverTest, ALaneBeginsAtTheReceiptsWhereTheHomeIsBehindThem) {
  for (const int finished : {3, 11}) {  // 11: more than the lane holds
    SCOPED_TRACE(finished);
    begin(shm::kMinInboxCapacity);
    for (int i = 0; i < finished; ++i) {
      DeadAgent::say(*sender_, "finished");
      agent_->inbox().drain_all();
      agent_->inbox().done(agent_->inbox().take());
    }
    const std::uint64_t id = DeadAgent::say(*sender_, "in the lane");
    home().row(sender_->link->row()).cursors[0].publish(0);
    end();
    EXPECT_EQ(agent_->letters().size(), 1U);
    EXPECT_EQ(payload_of(id), "in the lane");
  }
}

// A final kill between the cursor in its home and the receipt.
TEST_F(TakeoverTest, AReceiptThatIsBehindTheHomeSaysNothing) {
  DeadAgent::say(*sender_, "taken");
  agent_->inbox().drain_all();
  sender_->back->view().bank(0).cursors[0].publish(0);
  end();
  EXPECT_EQ(agent_->letters().size(), 1U);
}

TEST_F(TakeoverTest, EntriesThatCannotBeAreLeftOut) {
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(DeadAgent::say(*sender_, "message"));
  agent_->inbox().drain_all();
  using shm::Entry;
  using shm::EntryWord;
  change(ids[0], [](Entry&, EntryWord& word) { word.row = shm::RowIndex(5); });  // a vacant row
  change(ids[1], [](Entry&, EntryWord& word) {
    word.row = shm::RowIndex(shm::kNoRow.value() - 1);
  });  // beyond all rows
  change(ids[2], [](Entry&, EntryWord& word) { word.state = shm::EntryState(7); });
  change(ids[3], [](Entry& entry, EntryWord&) { entry.header.id += 1ULL << 50; });
  change(ids[4], [](Entry& entry, EntryWord&) { entry.header.length = 10'000; });
  end();
  ASSERT_EQ(agent_->letters().size(), 1U);
  EXPECT_EQ(agent_->letters()[0].header.id, ids[5]);
}

TEST_F(TakeoverTest, ReceiptsOfAnotherLinkOrWithoutStampsSayNothing) {
  const auto letters_after = [&](auto&& lie) {
    begin(shm::kMinInboxCapacity);
    DeadAgent::say_large(*sender_, 500, 'x');
    agent_->inbox().drain_all();
    EXPECT_TRUE(receive::ensure_stamps(sender_->link->sink()));
    sender_->back->view().stamp(0, shm::SlabIndex(0)).publish(~0ULL);
    lie(sender_->back->view().bank(0));
    end();
    return agent_->letters().size();
  };
  EXPECT_EQ(letters_after([](shm::ReceiptBank&) {}), 0U) << "it says that it has finished it";
  EXPECT_EQ(letters_after([](shm::ReceiptBank& bank) { bank.incarnation.publish(1); }), 1U);
  EXPECT_EQ(letters_after([](shm::ReceiptBank& bank) { bank.serial.publish(77); }), 1U);
  EXPECT_EQ(letters_after([](shm::ReceiptBank& bank) { bank.stamps_ready.publish(0); }), 1U);
}

TEST_F(TakeoverTest, ReceiptsThatCannotBeReadSayNothing) {
  const shm::LinkLayout layout(DeadAgent::kContract);
  for (const std::uint64_t length : {layout.banks + 8, layout.stamps + 8}) {
    SCOPED_TRACE(length);
    begin(shm::kMinInboxCapacity);
    DeadAgent::say_large(*sender_, 500, 'x');
    agent_->inbox().drain_all();
    ASSERT_TRUE(receive::ensure_stamps(sender_->link->sink()));
    sender_->back->view().stamp(0, shm::SlabIndex(0)).publish(~0ULL);
    agent_->hive().registry.link(sender_->back->key())->fd =
        cut_short(sender_->back->memory().fd(), length);
    end();
    EXPECT_EQ(agent_->letters().size(), 1U);
  }
}

TEST_F(TakeoverTest, WithoutALinkOfItsOwnThereAreNoReceipts) {
  DeadAgent::say_large(*sender_, 500, 'x');
  agent_->inbox().drain_all();
  agent_->hive().registry.remove_link(sender_->back->key());
  end();
  EXPECT_EQ(agent_->letters().size(), 1U);
}

// ---- Links that their reader may have forgotten
// --------------------------------------------------

// The lane still holds taken messages; the cursor went with the row.
TEST_F(TakeoverTest, FromALinkWhoseRowIsClosedNothingIsTakenAgain) {
  DeadAgent::say(*sender_, "done");
  receive::Receiver& inbox = agent_->inbox();
  inbox.drain_all();
  inbox.done(inbox.take());
  in_link().released = true;
  ASSERT_TRUE(inbox.remove(*sender_->link));
  end();
  EXPECT_EQ(agent_->letters().size(), 0U);
}

// A kill before the row was closed, or an owner that has sent after its end.
TEST_F(TakeoverTest, ALinkThatMayBeForgottenCountsForAsLongAsItHasARow) {
  const std::uint64_t done = DeadAgent::say(*sender_, "done");
  const std::uint64_t held = DeadAgent::say(*sender_, "held");
  receive::Receiver& inbox = agent_->inbox();
  inbox.drain_all();
  inbox.done(inbox.take());
  const std::uint64_t late = DeadAgent::say(*sender_, "late");
  in_link().released = true;
  end();
  EXPECT_EQ(agent_->letters().size(), 2U);
  EXPECT_EQ(agent_->letter(done), nullptr);
  EXPECT_EQ(payload_of(held), "held");
  EXPECT_EQ(payload_of(late), "late");
}

// ---- Lies of a sender ---------------------------------------------------------------------------

TEST_F(TakeoverTest, ALaneEndsAtASlotThatCannotBe) {
  const std::uint64_t first = DeadAgent::say(*sender_, "sound");
  shm::MessageHeader foreign = DeadAgent::header_of(*sender_);
  foreign.id = shm::make_message_id(sender_->caller.pid + 1, 1);
  DeadAgent::publish(*sender_, foreign);
  DeadAgent::say(*sender_, "behind it");
  const std::uint64_t urgent = DeadAgent::say(*sender_, "the other lane", Lane::kUrgent);
  end();
  EXPECT_EQ(agent_->letters().size(), 2U);
  EXPECT_EQ(payload_of(first), "sound");
  EXPECT_EQ(payload_of(urgent), "the other lane");
}

TEST_F(TakeoverTest, AFullLaneIsReadOnceRound) {
  for (std::uint32_t i = 0; i < DeadAgent::kContract.normal_slots; ++i) {
    DeadAgent::say(*sender_, "message");
  }
  end();
  EXPECT_EQ(agent_->letters().size(), DeadAgent::kContract.normal_slots);
}

TEST_F(TakeoverTest, ALinkThatEndsInASlotOrBeforeAPayloadIsReadSoFar) {
  const shm::LinkLayout layout(DeadAgent::kContract);
  const std::uint64_t large = DeadAgent::say_large(*sender_, 500, 'x');
  DeadAgent::say(*sender_, "half a slot");
  agent_->die();
  in_link().fd = cut_short(sender_->own->memory().fd(), layout.normal + sizeof(shm::Slot) + 20);
  ASSERT_TRUE(agent_->take_over());
  ASSERT_EQ(agent_->letters().size(), 1U);
  EXPECT_EQ(agent_->letters()[0].header.id, large);
  EXPECT_EQ(agent_->letters()[0].payload, "") << "its slab is not there";
}

TEST_F(TakeoverTest, ATypeThatCannotBeReadIsEmpty) {
  shm::MessageHeader typed = DeadAgent::header_of(*sender_);
  typed.type = *sender_->own->intern("task");
  const std::uint64_t id = DeadAgent::publish(*sender_, typed);
  agent_->die();
  const shm::LinkLayout layout(DeadAgent::kContract);
  in_link().fd = cut_short(sender_->own->memory().fd(), layout.first_extent);
  ASSERT_TRUE(agent_->take_over());
  ASSERT_NE(agent_->letter(id), nullptr);
  EXPECT_EQ(agent_->letter(id)->type, "");
}

}  // namespace
}  // namespace beeline::control
