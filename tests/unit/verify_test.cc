// A sound segment passes; every invariant is broken once by writing bytes, and named.

#include "shm/verify.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/unit/verify_samples.h"

namespace beeline {
namespace {

using shm::Taken;
using test::Sample;

// A way to break one invariant, and the name of it.
struct Damage {
  const char* invariant;
  std::function<void(Sample&)> act;
};

template <typename T>
std::function<void(Sample&)> poke(std::uint64_t offset, T value) {
  return [offset, value](Sample& sample) { sample.poke<T>(offset, value); };
}
std::function<void(Sample&)> poke16(std::uint64_t offset, std::uint16_t value) {
  return poke(offset, value);
}
std::function<void(Sample&)> poke32(std::uint64_t offset, std::uint32_t value) {
  return poke(offset, value);
}
std::function<void(Sample&)> poke64(std::uint64_t offset, std::uint64_t value) {
  return poke(offset, value);
}

std::string name_of(const shm::Finding& finding) {
  return finding ? finding->invariant : "nothing";
}

void expect_named(Sample (*make)(), const std::vector<Damage>& damages,
                  Taken taken = Taken::kAfterDeath) {
  for (const Damage& damage : damages) {
    Sample sample = make();
    damage.act(sample);
    EXPECT_EQ(name_of(shm::verify_segment(sample.bytes(), taken)), damage.invariant);
  }
}

const shm::LinkLayout kLink(test::kSmallContract);
const shm::HomeShape kHome(test::kSmallInbox);

std::uint64_t normal_slot(std::uint64_t index) { return kLink.normal + index * sizeof(shm::Slot); }
std::uint64_t in_slot(std::uint64_t slot, std::size_t field) {
  return slot + offsetof(shm::Slot, header) + field;
}

// The entry in the n-th place of a state, as the sample made it.
std::uint64_t entry_in(Sample& sample, shm::EntryState state) {
  for (shm::EntryIndex i(0); i.value() < test::kSmallInbox; ++i) {
    const auto word = shm::EntryWord::unpack(sample.peek<std::uint64_t>(kHome.entry_at(i)));
    if (word.state == state) return kHome.entry_at(i);
  }
  return 0;
}

// The index of the entry that lies at this offset of the home.
shm::EntryIndex index_of(std::uint64_t offset) {
  const std::uint64_t first = kHome.entry_at(shm::EntryIndex(0));
  return shm::EntryIndex(static_cast<std::uint32_t>((offset - first) / sizeof(shm::Entry)));
}
std::function<void(Sample&)> in_entry(shm::EntryState state, std::size_t field, std::uint64_t value,
                                      std::size_t bytes) {
  return [=](Sample& sample) {
    std::memcpy(sample.data() + entry_in(sample, state) + field, &value, bytes);
  };
}
constexpr std::size_t in_message(std::size_t field) { return offsetof(shm::Entry, header) + field; }
std::uint64_t home_field(std::size_t field) { return kHome.control(field); }
std::uint64_t counter(std::size_t field) {
  return kHome.control(offsetof(shm::HomeControl, counters) + field);
}
std::uint64_t index_field(std::size_t field) {
  return kHome.control(offsetof(shm::HomeControl, index) + field);
}

TEST(Verify, SoundSegmentsPassHoweverTheyWereTaken) {
  for (const auto make : {test::sample_link, test::sample_home, test::sample_status,
                          test::sample_directory, test::sample_history}) {
    Sample sample = make();
    for (const Taken taken : {Taken::kAfterDeath, Taken::kAtRest, Taken::kWhileLive}) {
      EXPECT_EQ(name_of(shm::verify_segment(sample.bytes(), taken)), "nothing");
    }
  }
}

TEST(Verify, SegmentsOfTheDefaultSizesPass) {
  Sample home(shm::HomeLayout(shm::kDefaultInboxCapacity).bytes);
  shm::init_home(shm::Home(home.data(), shm::kDefaultInboxCapacity), {}, 3, shm::Incarnation(4));
  shm::Home(home.data(), shm::kDefaultInboxCapacity).header().ready.publish(1);
  EXPECT_EQ(name_of(shm::verify_segment(home.bytes())), "nothing");
}

// Rare but valid states.
TEST(Verify, TheLargestAndTheOddestThatIsSoundPasses) {
  const auto passes = [](Sample (*make)(), const std::function<void(Sample&)>& act) {
    Sample sample = make();
    act(sample);
    EXPECT_EQ(name_of(shm::verify_segment(sample.bytes(), Taken::kAtRest)), "nothing");
  };
  passes(test::sample_home, [](Sample& sample) {  // the sender's ids have begun anew
    sample.poke<std::uint64_t>(home_field(offsetof(shm::HomeControl, reserved_ids)), 1ULL << 41);
  });
  passes(test::sample_directory, [](Sample& sample) {  // a name that fills its field
    std::memset(sample.data() + shm::DirectoryLayout::kRecords0 + 3 * sizeof(shm::AgentRecord) +
                    offsetof(shm::AgentRecord, name),
                'x', shm::kNameBytes);
  });
  passes(test::sample_link,
         poke32(kLink.control + offsetof(shm::LinkControl, string_count), shm::kMaxStrings));
  passes(test::sample_link, [](Sample& sample) {  // of four slots two were never used
    sample.poke<std::uint64_t>(normal_slot(2), 0);
    sample.poke<std::uint64_t>(normal_slot(3), 0);
  });
  passes(test::sample_home, [](Sample& sample) {  // a late answer, and a copy
    const shm::Home home(sample.data(), test::kSmallInbox);
    const std::uint64_t leased = entry_in(sample, shm::EntryState::kLeased);
    shm::Entry& entry = home.entry(index_of(leased));
    entry.header.flags =
        shm::kFlagCopy | shm::kFlagExtended | shm::kFlagUnasked | shm::kFlagStashed;
  });
  passes(test::sample_home, [](Sample& sample) {  // one was taken from the middle of the order
    std::vector<shm::EntryIndex> free_stack(test::kSmallInbox);
    shm::Inbox inbox(shm::Home(sample.data(), test::kSmallInbox), free_stack);
    const shm::EntryIndex first = inbox.find([](const shm::Entry&) { return true; });
    shm::EntryIndex last = first;
    inbox.index().for_each([&](const shm::IndexNode& node) {
      last = node.entry();
      return true;
    });
    ASSERT_NE(last, first) << "one alone has no middle";
    inbox.take(last);
  });
}

TEST(ByteView, APartIsCutToTheInside) {
  const std::array<std::byte, 10> bytes{};
  const shm::ByteView view{std::span(bytes)};
  EXPECT_EQ(view.part(2, 3).size(), 3U);
  EXPECT_EQ(view.part(8, 3).size(), 2U);
  EXPECT_EQ(view.part(10, 1).size(), 0U);
  EXPECT_EQ(view.part(~0ULL, ~0ULL).size(), 0U);
  EXPECT_EQ(view.part(0, ~0ULL).size(), 10U);
}

TEST(Verify, AHomeThatIsNotReadyIsJudgedByItsHeaderAlone) {
  Sample sample = test::sample_home();
  sample.poke<std::uint64_t>(offsetof(shm::SegmentHeader, ready), 0);
  sample.poke<std::uint32_t>(home_field(offsetof(shm::HomeControl, policy)), 99);
  EXPECT_EQ(name_of(shm::verify_segment(sample.bytes())), "nothing");
}

TEST(Verify, AFindingNamesThePlaceTheValueAndTheLimit) {
  Sample sample = test::sample_link();
  const std::uint64_t at = kLink.control + offsetof(shm::LinkControl, string_count);
  sample.poke<std::uint32_t>(at, 256);
  const auto finding = shm::verify_segment(sample.bytes());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->where, at);
  EXPECT_EQ(finding->found, 256U);
  EXPECT_EQ(finding->limit, shm::kMaxStrings);
}

TEST(Verify, BrokenHeadersAreNamed) {
  using Header = shm::SegmentHeader;
  const auto section = [](std::uint64_t i, std::size_t field) {
    return shm::section_at(i) + field;
  };
  // Elements of size zero fit anywhere, in any number.
  const auto endless = [&](std::uint64_t i) {
    return [=](Sample& sample) {
      sample.poke<std::uint32_t>(section(i, offsetof(shm::Section, stride)), 0);
      sample.poke<std::uint64_t>(section(i, offsetof(shm::Section, count)), 1ULL << 40);
    };
  };
  expect_named(test::sample_link,
               {{"header.magic", poke64(0, 1)},
                {"header.version", poke16(offsetof(Header, layout_minor), shm::kLayoutMinor + 1)},
                {"header.kind", poke32(offsetof(Header, kind), 6)},
                {"header.kind", poke32(offsetof(Header, kind), 0)},
                {"segment.size", poke64(offsetof(Header, size_bytes), 4096)},
                {"header.owner", poke32(offsetof(Header, owner_pid), 0)},
                {"header.owner", poke32(offsetof(Header, owner_pid), shm::kMaxPid + 1)},
                {"header.peer", poke32(offsetof(Header, peer_pid), 0)},
                {"header.incarnation", poke64(offsetof(Header, owner_incarnation), 0)},
                {"header.ready", poke64(offsetof(Header, ready), 2)},
                {"header.reserved", poke64(offsetof(Header, reserved) + 64, 1)},
                {"header.section_count", poke32(offsetof(Header, section_count), 17)},
                {"header.section_count", poke32(offsetof(Header, section_count), 0)},
                {"section.bounds", poke64(section(5, offsetof(shm::Section, offset)), 1ULL << 60)},
                {"section.bounds", poke64(section(5, offsetof(shm::Section, count)), 1ULL << 61)},
                {"section.overlap", poke64(section(3, offsetof(shm::Section, offset)), 512)},
                {"section.layout", poke32(section(6, offsetof(shm::Section, stride)), 64)},
                {"section.layout", poke64(section(15, offsetof(shm::Section, offset)), 8)},
                {"link.contract", poke64(section(3, offsetof(shm::Section, count)), 3)},
                {"link.contract", endless(3)}});
  expect_named(test::sample_home,
               {{"header.peer", poke32(offsetof(Header, peer_pid), 1)},
                {"header.serial", poke32(offsetof(Header, serial), 1)},
                {"home.capacity", poke64(section(2, offsetof(shm::Section, count)), 15)},
                {"home.capacity", endless(2)}});
}

TEST(Verify, BrokenLinksAreNamed) {
  using Control = shm::LinkControl;
  using Bank = shm::ReceiptBank;
  const auto control = [](std::size_t field) { return kLink.control + field; };
  const auto bank = [](std::size_t field) { return kLink.banks + field; };
  expect_named(test::sample_link,
               {{"link.space", poke32(control(offsetof(Control, space)), 2)},
                {"link.string_count", poke32(control(offsetof(Control, string_count)), 256)},
                {"link.watching", poke64(control(offsetof(Control, watching)), 1ULL << 56)},
                {"link.slabs_allocated", poke32(control(offsetof(Control, slabs_allocated)), 129)},
                {"link.reserved", poke32(control(offsetof(Control, reserved0)) + 8, 1)},
                {"link.reserved", poke64(control(offsetof(Control, reserved)), 1)},
                {"link.string.length", poke<std::uint8_t>(kLink.strings + 32, 32)},
                {"link.string.length", poke<std::uint8_t>(kLink.strings, 1)},
                {"bank.incarnation", poke64(bank(0), 1ULL << 56)},
                {"bank.stamps_ready", poke32(bank(offsetof(Bank, stamps_ready)), 2)},
                {"bank.cursor", poke64(bank(offsetof(Bank, cursors)), ~0ULL)},
                {"bank.reserved", poke64(bank(offsetof(Bank, reserved)), 1)},
                {"bank.unique", [&](Sample& sample) {
                   sample.poke<std::uint64_t>(bank(sizeof(Bank)), test::kReaderLife.value());
                   sample.poke<std::uint32_t>(bank(sizeof(Bank) + offsetof(Bank, serial)), 3);
                 }}});
}

TEST(Verify, BrokenLanesAreNamed) {
  using Message = shm::MessageHeader;
  const std::uint64_t slot = normal_slot(3);  // holds position 3, taken but not rewritten
  const std::uint64_t urgent = kLink.urgent;
  const auto field = [slot](std::size_t offset) { return in_slot(slot, offset); };
  expect_named(test::sample_link,
               {{"lane.commit.limit", poke64(slot, ~0ULL)},
                {"lane.commit.place", poke64(slot, 3)},
                {"lane.window", poke64(slot, 12)},
                {"lane.window", poke64(normal_slot(0), 0)},
                {"slot.id", poke64(field(0), shm::make_message_id(8, 4))},
                {"slot.id", poke64(field(0), shm::make_message_id(test::kSender, 0))},
                {"lane.ids_differ", poke64(field(0), shm::make_message_id(test::kSender, 5))},
                {"slot.flags", poke16(field(offsetof(Message, flags)), 1 << 7)},
                {"slot.time", poke64(field(offsetof(Message, sent_ns)), 1ULL << 63)},
                {"slot.string", poke16(field(offsetof(Message, type)), 3)},
                {"slot.string", poke16(field(offsetof(Message, channel)), 3)},
                {"slot.length", poke32(field(offsetof(Message, length)), 65)},
                {"slot.slab", poke32(field(offsetof(Message, slab)), 0)},
                {"slot.slab", poke32(in_slot(urgent, offsetof(Message, slab)), 256)},
                {"slot.slab_allocated", poke32(in_slot(urgent, offsetof(Message, slab)), 2)},
                {"slot.generation", poke64(urgent + offsetof(shm::Slot, generation), 0)},
                {"slot.length", poke32(in_slot(urgent, offsetof(Message, length)), 1025)}});
}

// Threads of one agent send at once, so a later id may be published first.
TEST(Verify, TheIdsOfALaneNeedNotRise) {
  Sample sample = test::sample_link();
  sample.poke<std::uint64_t>(in_slot(normal_slot(3), 0), shm::make_message_id(test::kSender, 40));
  for (const Taken taken : {Taken::kWhileLive, Taken::kAfterDeath, Taken::kAtRest}) {
    EXPECT_EQ(name_of(shm::verify_segment(sample.bytes(), taken)), "nothing");
  }
}

TEST(Verify, TheSlotThatIsWrittenNextMayBeHalfWritten) {
  Sample sample = test::sample_link();
  sample.poke<std::uint64_t>(in_slot(normal_slot(2), 0), 1);  // position 6 comes here
  EXPECT_EQ(name_of(shm::verify_segment(sample.bytes(), Taken::kAfterDeath)), "nothing");
  EXPECT_EQ(name_of(shm::verify_segment(sample.bytes(), Taken::kAtRest)), "slot.id");
}

TEST(Verify, BrokenHomeControlsAreNamed) {
  using Control = shm::HomeControl;
  expect_named(
      test::sample_home,
      {{"home.capacity", poke32(home_field(offsetof(Control, capacity)), 32)},
       {"home.policy", poke32(home_field(offsetof(Control, policy)), 3)},
       {"home.critical_reserve", poke32(home_field(offsetof(Control, critical_reserve)), 16)},
       {"home.max_attempts", poke32(home_field(offsetof(Control, max_attempts)), 0)},
       {"home.rank_step", poke64(home_field(offsetof(Control, rank_step_us)), 0)},
       {"home.next_arrival", poke64(home_field(offsetof(Control, next_arrival)), 0)},
       {"home.predecessor", poke64(home_field(offsetof(Control, predecessor)), 5000)},
       {"home.reserved_ids", poke64(home_field(offsetof(Control, reserved_ids)), ~0ULL)},
       {"home.rows_allocated", poke32(home_field(offsetof(Control, rows_allocated)), 8193)},
       {"home.entries_allocated", poke32(home_field(offsetof(Control, entries_allocated)), 17)},
       {"home.reserved", poke64(home_field(offsetof(Control, reserved2)), 1)}});
}

TEST(Verify, BrokenRowsAreNamed) {
  using Row = shm::InRow;
  const auto row = [](std::size_t field) { return kHome.row_at(shm::RowIndex(0)) + field; };
  expect_named(test::sample_home, {{"row.incarnation", poke64(row(0), 1ULL << 56)},
                                   {"row.owner", poke32(row(offsetof(Row, owner_pid)), 0)},
                                   {"row.cursor", poke64(row(offsetof(Row, cursors)), ~0ULL)},
                                   {"row.reserved", poke64(row(offsetof(Row, reserved)), 1)},
                                   {"row.retired", poke64(row(offsetof(Row, retired)), 5)},
                                   {"row.unique", [](Sample& sample) {
                                      const shm::Home home(sample.data(), test::kSmallInbox);
                                      shm::open_row(home.row(shm::RowIndex(5)), test::kSenderLink,
                                                    test::kSender, 0, 0);
                                    }}});
}

TEST(Verify, BrokenEntriesAreNamed) {
  using State = shm::EntryState;
  using Message = shm::MessageHeader;
  constexpr auto kQueued = State::kQueued;
  const std::size_t flags = in_message(offsetof(Message, flags));
  expect_named(test::sample_home,
               {{"entry.state", in_entry(kQueued, 0, 4, 1)},
                {"entry.free", in_entry(State::kFree, 1, 1, 1)},
                {"entry.flags", in_entry(kQueued, flags, shm::kFlagUnasked, 2)},
                {"entry.flags", in_entry(kQueued, flags, shm::kFlagCut, 2)},
                {"entry.reason", in_entry(State::kDead, flags, 0, 2)},
                {"entry.reason", in_entry(State::kDead, flags, 9 << shm::kReasonShift, 2)},
                {"entry.id", in_entry(kQueued, in_message(0), 0, 8)},
                {"entry.sender", in_entry(kQueued, in_message(0), shm::make_message_id(8, 1), 8)},
                {"entry.time", in_entry(kQueued, in_message(offsetof(Message, sent_ns)), ~0ULL, 8)},
                {"entry.string", in_entry(kQueued, in_message(offsetof(Message, type)), 256, 2)},
                {"entry.length", in_entry(kQueued, in_message(offsetof(Message, length)), 65, 4)},
                {"entry.slab", in_entry(kQueued, flags, shm::kFlagSlab, 2)},
                {"entry.arrival", in_entry(kQueued, offsetof(shm::Entry, arrival), 1000, 8)},
                {"entry.row", in_entry(State::kLeased, 2, 64, 2)},
                {"entry.row_open", in_entry(State::kLeased, 2, 1, 2)},
                {"entry.committed", in_entry(State::kLeased, 4, 13, 4)},
                {"entry.generation", [=](Sample& sample) {
                   const std::uint64_t at = entry_in(sample, kQueued);
                   sample.poke<std::uint16_t>(at + flags, shm::kFlagSlab);
                   sample.poke<std::uint32_t>(at + in_message(offsetof(Message, slab)), 3);
                   sample.poke<std::uint64_t>(at + offsetof(shm::Entry, generation), 0);
                 }}});
}

TEST(Verify, TheBalanceMayLagByOneAfterAKillOnly) {
  const std::uint64_t done = counter(offsetof(shm::InboxCounters, done));
  Sample sample = test::sample_home();
  ASSERT_EQ(sample.peek<std::uint64_t>(done), 1U);
  sample.poke<std::uint64_t>(done, 0);
  EXPECT_EQ(name_of(shm::verify_segment(sample.bytes(), Taken::kAfterDeath)), "nothing");
  EXPECT_EQ(name_of(shm::verify_segment(sample.bytes(), Taken::kAtRest)), "home.balance");
  sample.poke<std::uint64_t>(done, 2);
  EXPECT_EQ(name_of(shm::verify_segment(sample.bytes(), Taken::kAfterDeath)), "home.balance");
  sample.poke<std::uint64_t>(done, 1);
  sample.poke<std::uint64_t>(kHome.row_at(shm::RowIndex(0)) + 8,
                             15);  // two more taken than there are
  EXPECT_EQ(name_of(shm::verify_segment(sample.bytes(), Taken::kAfterDeath)), "home.balance");
}

TEST(Verify, AnEntryThatWasNotCommittedDoesNotCount) {
  Sample sample = test::sample_home();
  const shm::Home home(sample.data(), test::kSmallInbox);
  const std::uint64_t at = entry_in(sample, shm::EntryState::kFree);
  shm::MessageHeader header = test::sample_message(14, 2);
  sample.poke(at + offsetof(shm::Entry, header), header);
  sample.poke<std::uint64_t>(at + offsetof(shm::Entry, arrival), home.control().next_arrival++);
  sample.poke(at, shm::EntryWord{shm::EntryState::kQueued, 0, shm::RowIndex(0), 13}.pack());
  EXPECT_EQ(name_of(shm::verify_segment(sample.bytes())), "nothing");
  EXPECT_EQ(shm::balance_of(shm::ByteView(sample.bytes()), kHome).uncommitted, 1U);
}

TEST(Verify, ARowThatWasBeingClosedCountsOnce) {
  using Row = shm::InRow;
  Sample sample = test::sample_home();
  const shm::Home home(sample.data(), test::kSmallInbox);
  shm::open_row(home.row(shm::RowIndex(2)), {test::kSenderLink.incarnation + 1, 1}, test::kSender,
                4, 0);
  auto& counters = home.control().counters;
  counters.done.relaxed_store(counters.done.relaxed_load() + 4);
  const auto passes = [&] { return name_of(shm::verify_segment(sample.bytes())); };
  EXPECT_EQ(passes(), "nothing");
  home.row(shm::RowIndex(2)).retired.publish(4);
  EXPECT_EQ(passes(), "nothing");
  home.control().retired.publish(4);
  EXPECT_EQ(passes(), "nothing");
  home.row(shm::RowIndex(2)).incarnation.publish(0);
  EXPECT_EQ(passes(), "nothing");
  EXPECT_EQ(name_of(shm::verify_segment(sample.bytes(), Taken::kAtRest)), "row.retired");
  sample.poke<std::uint64_t>(kHome.row_at(shm::RowIndex(2)) + offsetof(Row, retired), 0);
  EXPECT_EQ(name_of(shm::verify_segment(sample.bytes(), Taken::kAtRest)), "nothing");
}

TEST(Verify, BrokenIndexBoundsAreNamed) {
  expect_named(test::sample_home, {{"index.size", poke64(index_field(24), 15)},
                                   {"index.size", poke64(index_field(24), 32)},
                                   {"index.heap_count", poke64(index_field(16), 17)},
                                   {"index.run_count", poke64(index_field(8), 1000)},
                                   {"index.covers_entries", [](Sample& sample) {
                                      sample.poke<std::uint64_t>(index_field(24), 8);
                                    }}});
}

TEST(Verify, AnIndexThatDoesNotMatchIsNamedAtRestAndForgivenAfterAKill) {
  const std::uint64_t heap = kHome.layout().heap;
  const auto first_of_run = [](Sample& sample) {
    return kHome.layout().run +
           (sample.peek<std::uint64_t>(index_field(0)) % test::kSmallInbox) * 16;
  };
  const std::vector<Damage> damages = {
      {"index.run_sorted",
       [&](Sample& s) { s.poke<std::int64_t>(first_of_run(s) + 16, INT64_MIN); }},
      {"index.heap_order", poke<std::int64_t>(heap + 16, INT64_MIN)},
      {"index.entry", poke64(heap + 8, 5ULL << 24 | 300)},
      {"index.arrival", poke64(heap + 8, 0xfffULL << 24)},
      {"index.key", poke<std::int64_t>(heap, INT64_MIN)},
      {"index.leads_to_queued",
       [&](Sample& s) {
         const std::uint64_t leased = entry_in(s, shm::EntryState::kLeased);
         const std::uint64_t entry = index_of(leased).value();
         s.poke<std::uint64_t>(heap + 8, entry);
       }},
      {"index.count",
       [](Sample& s) {
         s.poke<std::uint64_t>(index_field(16), s.peek<std::uint64_t>(index_field(16)) - 1);
       }},
      {"index.same_set",
       [&](Sample& s) {
         // The first node of the heap stands twice, so another one is missing.
         s.poke(heap + 16, s.peek<shm::IndexNode>(heap));
       }},
  };
  for (const Damage& damage : damages) {
    Sample sample = test::sample_home();
    ASSERT_GE(sample.peek<std::uint64_t>(index_field(16)), 3U);
    damage.act(sample);
    EXPECT_EQ(name_of(shm::verify_segment(sample.bytes(), Taken::kAtRest)), damage.invariant);
    EXPECT_EQ(name_of(shm::verify_segment(sample.bytes(), Taken::kAfterDeath)), "nothing");
  }
}

TEST(Verify, BrokenStatusPagesAreNamed) {
  using Page = shm::StatusPage;
  expect_named(test::sample_status,
               {{"status.sleep", poke32(offsetof(Page, sleep), 3)},
                {"status.activity", poke32(offsetof(Page, activity), 4)},
                {"status.capacity", poke32(offsetof(Page, capacity), 1 << 21)},
                {"status.queued", poke32(offsetof(Page, queued), 17)},
                {"status.reserved", poke64(offsetof(Page, reserved_page), 1)}});
  expect_named(test::sample_status,
               {{"status.critical_queued", poke32(offsetof(Page, critical_queued), 4)}},
               Taken::kAtRest);
}

TEST(Verify, BrokenDirectoriesAreNamed) {
  using Control = shm::DirectoryControl;
  using Layout = shm::DirectoryLayout;
  using Record = shm::AgentRecord;
  const auto control = [](std::size_t field) { return Layout::kControl + field; };
  const auto record = [](std::uint64_t i, std::size_t field) {
    return Layout::kRecords0 + i * sizeof(Record) + field;
  };
  const auto word = [](shm::AgentWord value) { return poke64(Layout::kWords + 8, value.pack()); };
  expect_named(test::sample_directory,
               {{"directory.epoch", poke64(control(offsetof(Control, current)), 69 << 1)},
                {"directory.current", poke64(control(offsetof(Control, current)), 72 << 1 | 1)},
                {"directory.agent_count", poke64(control(offsetof(Control, agent_count)), 4097)},
                {"directory.max_payload", poke64(control(offsetof(Control, max_payload_bytes)), 0)},
                {"directory.history", poke64(control(offsetof(Control, history)), 3)},
                {"directory.reserved", poke64(control(offsetof(Control, reserved)), 1)},
                {"agent.state", poke64(Layout::kWords + 8, 1000 << 8 | 5)},
                {"agent.vacant", poke64(Layout::kWords + 8, 1000 << 8)},
                {"agent.incarnation", word({shm::kNoIncarnation, shm::AgentState::kRunning})},
                {"agent.unique", word({test::kReaderLife, shm::AgentState::kRunning})},
                {"record.pid", poke32(record(1, 0), shm::kMaxPid + 1)},
                {"record.parent", poke32(record(1, offsetof(Record, parent_pid)), 7)},
                {"record.flags", poke32(record(1, offsetof(Record, flags)), 2)},
                {"record.name", poke64(record(1, offsetof(Record, name)), 0)},
                {"record.name_end", poke<char>(record(1, offsetof(Record, name) + 9), 'x')},
                {"record.name_text", poke<char>(record(1, offsetof(Record, name)), '\x1b')},
                {"record.name_text", poke<char>(record(1, offsetof(Record, name)), '\x7f')},
                {"record.unique", poke32(record(2, 0), 7)}});
  expect_named(
      test::sample_directory,
      {{"record.parent_exists", poke32(record(3, offsetof(Record, parent_pid)), 8)},
       {"packets.taken", poke64(Layout::kPackets + offsetof(shm::PacketCounts, taken), 1)}},
      Taken::kAtRest);
}

}  // namespace
}  // namespace beeline
