// The checks before a mapping, and the later checks of its contents: foreign segments, other
// versions, and links that announce memory that they do not have.

#include <sys/mman.h>
#include <unistd.h>

#include "src/control/foreign_check.h"
#include "tests/support/in_links.h"
#include "tests/unit/receiver_peers.h"

namespace beeline::receive {
namespace {

using segment::Foreign;
using shm::LinkLayout;
using test::kContract;
using test::must;
using test::Peer;

constexpr std::uint32_t kOwner = 7;
constexpr shm::LinkKey kKey{shm::Incarnation(1000), 3};
const shm::SegmentIdentity kPromised =
    shm::link_identity(kContract, kOwner, test::kReaderPid, kKey);

// A link with one field of its header changed, as its reader gets it.
class ForeignTest : public testing::Test {
 protected:
  ForeignTest() {
    memory_ = must(segment::Owned::create_link("foreign", layout_));
    shm::init_link(shm::Link(memory_.data(), kContract), kPromised);
  }
  [[nodiscard]] shm::SegmentHeader& header() const {
    return *reinterpret_cast<shm::SegmentHeader*>(memory_.data());
  }
  [[nodiscard]] Result<Foreign> accept() const {
    return Foreign::accept_link(must(os::duplicate(memory_.fd())), kContract, kOwner,
                                test::kReaderPid, kKey);
  }
  // The coordinator checks the same header with the same result.
  void expect_refused(ErrorCode code, std::string_view reason) const {
    expect_refused_by_reader(code, reason);
    const auto checked = check();
    ASSERT_FALSE(checked) << "the coordinator accepts it; it should say: " << reason;
    EXPECT_EQ(to_string(checked.error().code), to_string(code)) << checked.error().text;
  }
  void expect_refused_by_reader(ErrorCode code, std::string_view reason) const {
    const auto accepted = accept();
    ASSERT_FALSE(accepted) << "accepted; it should say: " << reason;
    EXPECT_EQ(to_string(accepted.error().code), to_string(code));
    EXPECT_NE(accepted.error().text.find(reason), std::string::npos) << accepted.error().text;
    EXPECT_TRUE(segment::is_lie(accepted.error()));
  }
  [[nodiscard]] Result<void> check() const {
    return control::check_link(memory_.fd(), kContract, kOwner, test::kReaderPid, kKey);
  }

  const LinkLayout layout_{kContract};
  segment::Owned memory_;
};

TEST_F(ForeignTest, ASoundSegmentIsAccepted) {
  const auto accepted = accept();
  ASSERT_TRUE(accepted) << accepted.error().text;
  EXPECT_TRUE(accepted->valid());
  EXPECT_EQ(accepted->size(), layout_.first_part());
  EXPECT_FALSE(Foreign().valid());
  EXPECT_TRUE(check());
}

TEST_F(ForeignTest, WhateverTheHeaderSaysOtherwiseIsRefused) {
  const auto refused = [&](auto& field, auto value, ErrorCode code, std::string_view reason) {
    const auto sound = std::exchange(field, value);
    expect_refused(code, reason);
    field = sound;
  };
  shm::SegmentHeader& it = header();
  refused(it.magic, shm::kMagic + 1, ErrorCode::kBadSegment, "magic");
  refused(it.kind, 1U, ErrorCode::kBadSegment, "kind of segment");
  refused(it.size_bytes, layout_.bytes - 1, ErrorCode::kBadSegment, "size");
  refused(it.owner_pid, kOwner + 1, ErrorCode::kBadSegment, "owner");
  refused(it.peer_pid, kOwner, ErrorCode::kBadSegment, "owner");
  refused(it.owner_incarnation, kKey.incarnation.value() + 1, ErrorCode::kBadSegment, "owner");
  refused(it.serial, kKey.serial + 1, ErrorCode::kBadSegment, "owner");
  refused(it.layout_major, std::uint16_t{9}, ErrorCode::kWrongVersion, "layout 9.2");
  refused(it.layout_minor, std::uint16_t{9}, ErrorCode::kWrongVersion, "layout 1.9");
  EXPECT_TRUE(accept()) << "and nothing else is wrong with it";
  for (const std::uint32_t ready : {0U, 2U}) {
    it.ready.publish(ready);
    expect_refused_by_reader(ErrorCode::kBadSegment, "not ready");
    EXPECT_TRUE(check()) << "to the coordinator it does not matter yet";
  }
}

// A caller that was short of memory tries again.
TEST_F(ForeignTest, TheDescriptorOfARefusedSegmentStaysWithTheCaller) {
  os::UniqueFd fd = must(os::duplicate(memory_.fd()));
  const auto accept_it = [&] {
    return Foreign::accept_link(std::move(fd), kContract, kOwner, test::kReaderPid, kKey);
  };
  header().ready.publish(0);
  EXPECT_FALSE(accept_it());
  EXPECT_TRUE(fd.valid());
  header().ready.publish(1);
  EXPECT_TRUE(accept_it());
  EXPECT_FALSE(fd.valid());
}

// Another version has other sizes, so the error names the version.
TEST_F(ForeignTest, TheVersionIsABetterReasonThanTheSize) {
  const std::uint64_t bytes = layout_.first_extent - shm::kPage;
  memory_ = must(segment::Owned::create("foreign", bytes, bytes));
  shm::init_link(shm::Link(memory_.data(), kContract), kPromised);
  expect_refused(ErrorCode::kBadSegment, std::to_string(bytes));
  header().layout_major = 2;
  const auto accepted = accept();
  ASSERT_FALSE(accepted);
  EXPECT_EQ(accepted.error().code, ErrorCode::kWrongVersion);
  header().layout_major = shm::kLayoutMajor;
  header().layout_minor = 9;
  EXPECT_EQ(accept().error().code, ErrorCode::kWrongVersion);
  header().magic = 0;  // then it is a segment of no version
  expect_refused(ErrorCode::kBadSegment, std::to_string(bytes));
}

TEST(Refusal, AFileWithoutAReadableHeaderKeepsItsReason) {
  const Error reason{ErrorCode::kBadSegment, 0, "as it was"};
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_EQ(segment::refusal(ends[0], kPromised, reason).text, "as it was") << "no offsets";
  ::close(ends[0]);
  ::close(ends[1]);
  const os::UniqueFd small = must(os::create_memfd("short", 100));
  EXPECT_EQ(segment::refusal(small.get(), kPromised, reason).text, "as it was") << "too short";
}

// ---- Memory that is announced later -------------------------------------------------------------

TEST_F(ForeignTest, ARangeIsVerifiedWhereItsMemoryIs) {
  auto foreign = must(accept());
  const auto unallocated = foreign.verify(layout_.strings, LinkLayout::kStringsBytes);
  ASSERT_FALSE(unallocated);
  EXPECT_EQ(unallocated.error().code, ErrorCode::kBadSegment);
  ASSERT_TRUE(memory_.allocate(layout_.strings, LinkLayout::kStringsBytes));
  EXPECT_TRUE(foreign.verify(layout_.strings, LinkLayout::kStringsBytes));
  const auto behind = foreign.verify(layout_.bytes, shm::kPage);
  ASSERT_FALSE(behind) << "it does not lie inside";
  EXPECT_EQ(behind.error().code, ErrorCode::kBadSegment);
}

// Two slabs of each class, written by the owner and read by the reader. A slab that is mapped keeps
// its address while further ones are mapped.
TEST(Windows, SlabsOfAllClassesAreReadAsTheyWereWritten) {
  constexpr shm::LinkContract kLarge{8, 4, 5ULL << 20};
  auto owner = must(send::OutLink::create("windows", kOwner, test::kReaderPid, kKey, kLarge));
  receive::LaneReader reader(must(beeline::test::map_link(owner, kOwner)), kLarge);
  const LinkLayout layout(kLarge);
  struct Written {
    shm::SlabIndex slab;
    std::byte* at;
    const std::byte* seen;
    std::uint64_t bytes;
  };
  std::vector<Written> all;
  for (const shm::SlabClass& of : layout.classes) {
    for (int i = 0; of.count != 0 && i < 2; ++i) {
      const auto loan = owner.take_slab(std::min(of.slab_bytes, kLarge.max_payload_bytes));
      ASSERT_TRUE(loan);
      std::byte* const at = owner.slab_bytes(*loan);
      at[0] = at[of.slab_bytes - 1] = static_cast<std::byte>(loan->slab.value());
      ASSERT_EQ(reader.verify_extents(), Extents::kVerified);
      all.push_back({loan->slab, at, reader.view().slab(loan->slab), of.slab_bytes});
    }
  }
  for (const Written& each : all) {
    EXPECT_EQ(owner.view().slab(each.slab), each.at);
    EXPECT_EQ(reader.view().slab(each.slab), each.seen);
    EXPECT_EQ(each.seen[0], static_cast<std::byte>(each.slab.value()));
    EXPECT_EQ(each.seen[each.bytes - 1], static_cast<std::byte>(each.slab.value()));
  }
}

// The first of two large slabs counts, even if the second one does not exist.
TEST(Windows, EachLargeSlabIsVerifiedByItself) {
  constexpr shm::LinkContract kLarge{8, 4, 5ULL << 20};
  auto owner = must(send::OutLink::create("windows", kOwner, test::kReaderPid, kKey, kLarge));
  receive::LaneReader reader(must(beeline::test::map_link(owner, kOwner)), kLarge);
  ASSERT_TRUE(owner.take_slab(4U << 20));
  owner.view().control().slabs_allocated[4].publish(2);
  EXPECT_EQ(reader.verify_extents(), Extents::kLie);
  EXPECT_EQ(reader.verified().slabs[4], 1U);
}

class ExtentsTest : public test::ReceiverTest {
 protected:
  ExtentsTest() : peer_(join(100)) {}
  [[nodiscard]] shm::LinkControl& control() const { return peer_.own.view().control(); }
  [[nodiscard]] Extents look() const { return peer_.link->verify_extents(); }
  void allocate(std::uint64_t offset, std::uint64_t bytes) const {
    const auto done = peer_.own.memory().allocate(offset, bytes);
    ASSERT_TRUE(done) << done.error().text;
  }
  Peer& peer_;
  const LinkLayout layout_{kContract};
};

TEST_F(ExtentsTest, AllocatedMemoryIsVerifiedOnceAndNeverLost) {
  EXPECT_EQ(look(), Extents::kVerified) << "nothing is announced";
  allocate(layout_.slabs[0], 4 * layout_.classes[0].slab_bytes);
  control().slabs_allocated[0].publish(4);
  allocate(layout_.strings, LinkLayout::kStringsBytes);
  control().string_count.publish(2);
  EXPECT_EQ(look(), Extents::kVerified);
  EXPECT_EQ(peer_.link->verified().slabs[0], 4U);
  EXPECT_EQ(peer_.link->verified().strings, 2U);
  control().string_count.publish(3);
  EXPECT_EQ(look(), Extents::kVerified);
  EXPECT_EQ(peer_.link->verified().strings, 3U);
  // An owner cannot take it back.
  control().slabs_allocated[0].publish(1);
  control().string_count.publish(1);
  EXPECT_EQ(look(), Extents::kVerified);
  EXPECT_EQ(peer_.link->verified().slabs[0], 4U);
  EXPECT_EQ(peer_.link->verified().strings, 3U);
}

TEST_F(ExtentsTest, MoreThanTheContractHasIsALie) {
  control().slabs_allocated[1].publish(layout_.classes[1].count + 1);
  EXPECT_EQ(look(), Extents::kLie);
  control().slabs_allocated[1].publish(0);
  control().string_count.publish(shm::kMaxStrings + 1);
  EXPECT_EQ(look(), Extents::kLie);
}

TEST_F(ExtentsTest, MemoryThatIsNotAllocatedIsALie) {
  control().slabs_allocated[0].publish(4);
  EXPECT_EQ(look(), Extents::kLie);
  control().slabs_allocated[0].publish(0);
  control().string_count.publish(1);
  EXPECT_EQ(look(), Extents::kLie);
  EXPECT_EQ(peer_.link->verified().strings, 0U);
}

TEST_F(ExtentsTest, TheTypesThatTheEngineActsOnAreKnown) {
  const std::uint16_t other = peer_.intern("anything");
  const std::uint16_t cancel = peer_.intern(kCancelOrder);
  const std::uint16_t response = peer_.intern(kTaskResponse);
  const std::uint16_t escalation = peer_.intern(kEscalation);
  ASSERT_EQ(look(), Extents::kVerified);
  EXPECT_EQ(peer_.link->known_type(0), KnownType::kOther);
  EXPECT_EQ(peer_.link->known_type(escalation), KnownType::kEscalation);
  EXPECT_EQ(peer_.link->known_type(response), KnownType::kTaskResponse);
  EXPECT_EQ(peer_.link->known_type(cancel), KnownType::kCancel);
  EXPECT_EQ(peer_.link->known_type(other), KnownType::kOther);
}

// A string is cut if its length byte exceeds its field.
TEST_F(ExtentsTest, AStringIsNeverLongerThanItsField) {
  const std::uint16_t number = peer_.intern("name");
  ASSERT_EQ(look(), Extents::kVerified);
  peer_.own.view().string(number).words[0].relaxed_store(~0ULL);
  EXPECT_EQ(shm::read_string(peer_.link->view(), number).view().size(), shm::kMaxStringLength);
}

// ---- At the coordinator -------------------------------------------------------------------------

TEST(ForeignCheck, AHomeNeedsALegalCapacity) {
  const auto home = [](std::uint32_t said) {
    auto made = must(segment::Owned::create("home", shm::HomeLayout(16).bytes, shm::kPage));
    shm::HomeOptions options;
    options.capacity = 16;
    shm::init_home(shm::Home(made.data(), 16), options, kOwner, shm::Incarnation(1000));
    shm::Home(made.data(), 16).control().capacity = said;
    return made;
  };
  EXPECT_EQ(control::home_capacity(home(16).fd()), 16U);
  EXPECT_TRUE(control::check_home(home(16).fd(), kOwner, shm::Incarnation(1000)));
  for (const std::uint32_t said : {0U, 17U, 0xffffffffU}) {
    EXPECT_EQ(control::home_capacity(home(said).fd()), 0U) << said;
    EXPECT_EQ(control::check_home(home(said).fd(), kOwner, shm::Incarnation(1000)).error().code,
              ErrorCode::kBadSegment);
  }
  // A legal size, but not that of its file.
  EXPECT_EQ(control::check_home(home(32).fd(), kOwner, shm::Incarnation(1000)).error().code,
            ErrorCode::kBadSegment);
  EXPECT_EQ(control::check_home(home(16).fd(), kOwner + 1, shm::Incarnation(1000)).error().code,
            ErrorCode::kBadSegment);
  EXPECT_EQ(control::home_capacity(-1), 0U) << "no file at all";
  EXPECT_EQ(control::home_capacity(must(os::create_memfd("short", 100)).get()), 0U);
}

TEST(ForeignCheck, AStatusPageIsMappedOnlyWhenItIsOne) {
  auto made = must(segment::Owned::create("status", shm::kStatusBytes, shm::kStatusBytes));
  EXPECT_FALSE(control::map_status(made.fd(), kOwner, shm::Incarnation(1000))) << "zeros";
  shm::init_status(*reinterpret_cast<shm::StatusPage*>(made.data()), kOwner,
                   shm::Incarnation(1000));
  EXPECT_TRUE(control::map_status(made.fd(), kOwner, shm::Incarnation(1000)));
  EXPECT_FALSE(control::map_status(made.fd(), kOwner, shm::Incarnation(1001)));
}

}  // namespace
}  // namespace beeline::receive
