// A peer that writes into its own link bytes that no sender may write, one lie after the other. The
// victim loses no message of an honest agent meanwhile, and goes on serving. If the lie differs
// from a slow peer, the coordinator names the liar and ends its link.

#include <cstring>

#include "shm/extension.h"
#include "shm/strings.h"
#include "tests/hostile/stage.h"

namespace beeline::test {
namespace {

using shm::MessageHeader;

struct Attack {
  const char* name;
  void (*perform)(Villain&);
  // The coordinator's log entry. Null: the victim takes the lie for a slow peer, or drops a message
  // that the liar may not send, and the link stays.
  const char* fault;
};

template <typename Change>
void lie(Villain& villain, Change&& change) {
  MessageHeader header = villain.sound();
  change(header);
  villain.publish(header);
}

// ---- Slots --------------------------------------------------------------------------------------

void forge_sender(Villain& villain) {
  lie(villain, [&](MessageHeader& it) { it.id = shm::make_message_id(villain.pid() + 1, 7); });
}
void use_no_number(Villain& villain) {
  lie(villain, [&](MessageHeader& it) { it.id = shm::make_message_id(villain.pid(), 0); });
}
void set_unknown_flag(Villain& villain) {
  lie(villain, [](MessageHeader& it) { it.flags = 1U << 15; });
}
void set_flag_of_the_receiver(Villain& villain) {
  lie(villain, [](MessageHeader& it) { it.flags = shm::kFlagMatched; });
}
void claim_copy_without_original(Villain& villain) {
  lie(villain, [](MessageHeader& it) { it.flags = shm::kFlagCopy; });
}
void exceed_slot(Villain& villain) {
  lie(villain, [](MessageHeader& it) { it.length = shm::kInlineBytes + 1; });
}
void exceed_slot_beside_extension(Villain& villain) {
  lie(villain, [](MessageHeader& it) {
    it.flags = shm::kFlagExtended;
    it.length = shm::kInlineBytes - sizeof(shm::Extension) + 1;
  });
}
void send_from_before_time(Villain& villain) {
  lie(villain, [](MessageHeader& it) { it.sent_ns = -1; });
}
void use_missing_type(Villain& villain) {
  lie(villain, [](MessageHeader& it) { it.type = 1; });
}
void use_slab_beyond_all(Villain& villain) {
  lie(villain, [](MessageHeader& it) {
    it.flags = shm::kFlagSlab;
    it.slab = shm::kMaxSlabs;
  });
}
void use_slab_never_announced(Villain& villain) {
  MessageHeader header = villain.sound();
  header.flags = shm::kFlagSlab;
  header.slab = 3;
  villain.publish(header, nullptr, 1);
}

// ---- Memory -------------------------------------------------------------------------------------

void announce_slabs_without_memory(Villain& villain) {
  villain.link().control().slabs_allocated[0].publish(64);
  use_slab_never_announced(villain);
}
void announce_more_slabs_than_there_are(Villain& villain) {
  villain.link().control().slabs_allocated[0].publish(0xffffffff);
  use_slab_never_announced(villain);
}
void announce_strings_without_memory(Villain& villain) {
  villain.link().control().string_count.publish(1);
  use_missing_type(villain);
}
void announce_more_strings_than_there_are(Villain& villain) {
  villain.link().control().string_count.publish(shm::kMaxStrings + 1);
  use_missing_type(villain);
}
void exceed_slab(Villain& villain) {
  const auto& layout = villain.link().layout();
  const auto done = villain.memory().allocate(layout.slabs[0], layout.classes[0].slab_bytes);
  ASSERT_TRUE(done) << done.error().text;
  villain.link().control().slabs_allocated[0].publish(1);
  MessageHeader header = villain.sound();
  header.flags = shm::kFlagSlab;
  header.slab = 0;
  header.length = static_cast<std::uint32_t>(layout.classes[0].slab_bytes + 1);
  villain.publish(header, nullptr, 1);
}
// The string claims to be longer than its field: it is cut, and nothing else happens.
void lengthen_string(Villain& villain) {
  const auto done =
      villain.memory().allocate(villain.link().layout().strings, shm::LinkLayout::kStringsBytes);
  ASSERT_TRUE(done) << done.error().text;
  (void)shm::append_string(villain.link(), "type");
  villain.link().string(1).words[0].relaxed_store(~0ULL);
  use_missing_type(villain);
}

// ---- Numbers ------------------------------------------------------------------------------------

void jump_ahead(Villain& villain) {
  villain.link().slot(shm::Lane::kNormal, 0).commit.publish(1'000'000);
}
void overwrite_what_was_not_taken(Villain& villain) {
  villain.link().slot(shm::Lane::kUrgent, 0).commit.publish(shm::kDefaultUrgentSlots + 1);
}
void go_back(Villain& villain) {
  villain.say("one");
  while (villain.taken() == 0) villain.ring_victim();
  villain.link().slot(shm::Lane::kNormal, 1).commit.publish(1);
}

// ---- Messages that it may not send --------------------------------------------------------------

// A copy of an alleged message of another agent: dropped, whatever it contains.
void forge_copy(Villain& villain) {
  MessageHeader header = villain.sound();
  header.flags = shm::kFlagCopy | shm::kFlagExtended;
  shm::Extension extension{};
  extension.cause = shm::make_message_id(villain.pid() + 1, 1);
  extension.addressee = villain.victim();
  char area[shm::kInlineBytes] = {};
  std::memcpy(area, &extension, sizeof(extension));
  villain.publish(header, area);
  while (villain.taken() == 0) villain.ring_victim();
}
// Control messages come from above; this one is an ordinary message to the victim.
void forge_control(Villain& villain) {
  MessageHeader header = villain.sound();
  header.flags = shm::kFlagControl;
  header.rank = -1'000'000;
  villain.publish(header, nullptr, 0, shm::Lane::kUrgent);
}
// An answer and an acknowledgement to questions that it was never asked.
void answer_what_nobody_asked(Villain& villain) {
  MessageHeader header = villain.sound();
  header.reply_to = shm::make_message_id(villain.victim(), 1);
  villain.publish(header);
  header = villain.sound();
  header.reply_to = shm::make_message_id(villain.victim(), 1);
  header.flags = shm::kFlagAck | shm::kFlagExtended;
  villain.publish(header);
}
void send_from_the_future(Villain& villain) {
  lie(villain, [](MessageHeader& it) { it.sent_ns = INT64_MAX; });
}

constexpr Attack kAttacks[] = {
    {"ForgedSender", forge_sender, "message id carries a foreign pid"},
    {"NoNumber", use_no_number, "message id carries a foreign pid"},
    {"UnknownFlag", set_unknown_flag, "unknown flag"},
    {"FlagOfTheReceiver", set_flag_of_the_receiver, "unknown flag"},
    {"CopyWithoutOriginal", claim_copy_without_original, "unknown flag"},
    {"LongerThanItsSlot", exceed_slot, "length beyond its slot or slab"},
    {"LongerThanTheRestOfItsSlot", exceed_slot_beside_extension, "length beyond its slot or slab"},
    {"BeforeTime", send_from_before_time, "time is negative"},
    {"MissingType", use_missing_type, "type or channel out of range"},
    {"SlabBeyondAll", use_slab_beyond_all, "slab out of range"},
    {"SlabNeverAnnounced", use_slab_never_announced, "slab out of range"},
    {"SlabsWithoutMemory", announce_slabs_without_memory, "memory that it has not allocated"},
    {"MoreSlabsThanThereAre", announce_more_slabs_than_there_are,
     "memory that it has not allocated"},
    {"StringsWithoutMemory", announce_strings_without_memory, "memory that it has not allocated"},
    {"MoreStringsThanThereAre", announce_more_strings_than_there_are,
     "memory that it has not allocated"},
    {"LongerThanItsSlab", exceed_slab, "length beyond its slot or slab"},
    {"StringLongerThanItsField", lengthen_string, nullptr},
    {"CommitAhead", jump_ahead, "a commit number that cannot be"},
    {"OverwrittenSlot", overwrite_what_was_not_taken, "a commit number that cannot be"},
    {"CommitBack", go_back, "a commit number that cannot be"},
    {"ForgedCopy", forge_copy, nullptr},
    {"ForgedControl", forge_control, nullptr},
    {"UnaskedAnswers", answer_what_nobody_asked, nullptr},
    {"FromTheFuture", send_from_the_future, nullptr},
};

constexpr std::uint32_t kLiars = std::size(kAttacks);

std::string name_of(const Attack& attack) { return std::string("villain-") + attack.name; }

BEELINE_ROLE(liar) {
  auto& board = context.board<HostileBoard>();
  const Attack& attack = kAttacks[context.number];
  SCOPED_TRACE(attack.name);
  ASSERT_TRUE(board.honest.await(1, patience()));
  Villain villain(name_of(attack), "victim");
  if (!testing::Test::HasFailure()) attack.perform(villain);
  if (attack.fault != nullptr && !testing::Test::HasFailure()) {
    const std::string what = villain.await_end();
    EXPECT_NE(what.find(attack.fault), std::string::npos) << what;
  }
  board.attacked.raise();
  ASSERT_TRUE(board.is_over.await(1, patience()));
}

class HostileLink : public HostileTest {};

// All at once: a lie about one link must not help another.
TEST_F(HostileLink, EveryLieIsNamedAndEndsItsOwnLinkAlone) {
  scene().attackers = kLiars;
  auto victim = attach("victim");
  ASSERT_TRUE(victim);
  troupe().start("honest");
  for (std::uint32_t i = 0; i < kLiars; ++i) troupe().start("liar", i);
  receive_all_honest(*victim);
  std::uint64_t named = 0;
  for (const Attack& attack : kAttacks) {
    if (attack.fault == nullptr) continue;
    ++named;
    await_log({"event=link_ended", "name=\"" + name_of(attack) + "\" ", attack.fault});
  }
  EXPECT_EQ(hive().status().quarantined_links, named);
  EXPECT_EQ(victim->counters().quarantined_links, named);
  EXPECT_EQ(victim->counters().copies_dropped, 1U) << "the forged copy alone";
  scene().is_over.raise();
  troupe().wait_all(patience());
  expect_balance(*victim);
}

}  // namespace
}  // namespace beeline::test
