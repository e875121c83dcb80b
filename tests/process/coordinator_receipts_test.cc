// The receipts that count for an agent that neither sends nor waits: those of the life that the
// directory of its own coordinator names.

#include <beeline/agent.h>

#include "coordinator_fixture.h"

namespace beeline::control {
namespace {

class ReceiptsTest : public CoordinatorTest {
 protected:
  static constexpr std::uint64_t kSent = 3;

  void SetUp() override {
    CoordinatorTest::SetUp();
    start();
    AttachOptions options;
    options.name = "owner";
    auto made = beeline::Agent::attach(options);
    ASSERT_TRUE(is_ok(made));
    owner_.emplace(std::move(*made));
  }
  void TearDown() override {
    owner_.reset();
    CoordinatorTest::TearDown();
  }
  void say_all(Pid reader) {
    const auto to = owner_->peer(reader);
    ASSERT_TRUE(is_ok(to));
    for (std::uint64_t i = 0; i < kSent; ++i) ASSERT_TRUE(owner_->send(*to, "hello"));
  }
  // The reader opens its link to the owner, and shows in it how much it has taken from the owner.
  void show_receipts(TestAgent& reader, std::uint64_t taken) {
    const auto from = reader.next<AnnouncedLink>();
    ASSERT_TRUE(from.has_value());
    ASSERT_TRUE(is_ok(reader.open(owner_->pid())));
    shm::open_bank(bank_of(reader), {from->incarnation, from->serial}, taken, 0);
    (void)owner_->next_notice();  // the link was announced before its opening was answered
  }
  static shm::ReceiptBank& bank_of(TestAgent& reader) {
    return shm::Link(reader.links.at(1).data(), shm::LinkContract{}).bank(0);
  }
  std::uint64_t not_taken() {
    const auto links = owner_->links();
    EXPECT_EQ(links.size(), 1U);
    return links.empty() ? 0 : links.front().not_taken;
  }

  std::optional<beeline::Agent> owner_;
};

TEST_F(ReceiptsTest, ReceiptsOfTheNextLifeCountAsSoonAsThatLifeIsReady) {
  {
    TestAgent first = agent(named("reader"));
    ASSERT_NO_FATAL_FAILURE(say_all(first.pid()));
    ASSERT_TRUE(is_ok(first.client.detach({})));
  }
  TestAgent heir;
  ASSERT_TRUE(is_ok(heir.attach(named("reader"))));
  ASSERT_TRUE(is_ok(heir.provide(false)));
  ASSERT_NO_FATAL_FAILURE(show_receipts(heir, kSent - 1));
  EXPECT_EQ(not_taken(), kSent) << "it may break off";
  ASSERT_TRUE(is_ok(heir.client.ready()));
  EXPECT_EQ(not_taken(), 1U);
}

// The receipts may belong to a life that has a successor by now.
TEST_F(ReceiptsTest, NobodyCountsInANewHiveBeforeItIsKnownThere) {
  TestAgent reader = agent(named("reader"));
  ASSERT_NO_FATAL_FAILURE(say_all(reader.pid()));
  ASSERT_NO_FATAL_FAILURE(show_receipts(reader, 0));
  const auto status = reader.client.status();
  ASSERT_TRUE(is_ok(status));
  const auto coordinator = os::open_pidfd(status->coordinator_pid);
  ASSERT_TRUE(is_ok(coordinator));
  ASSERT_EQ(::kill(status->keeper_pid, SIGKILL), 0);
  ASSERT_TRUE(os::wait_readable(coordinator->get(), kLong));
  Client client = connect();  // starts the new one
  ASSERT_TRUE(eventually([&] {
    (void)owner_->next_notice();
    const auto all = client.list_all();
    return all && all->size() == 2;  // the coordinator and the owner
  }));
  bank_of(reader).cursors[0].publish(kSent - 1);
  EXPECT_EQ(not_taken(), kSent);
  ASSERT_TRUE(is_ok(reader.resume()));
  EXPECT_TRUE(eventually([&] {
    (void)owner_->next_notice();
    return not_taken() == 1;
  }));
}

}  // namespace
}  // namespace beeline::control
