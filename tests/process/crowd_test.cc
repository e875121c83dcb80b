// The lead of a crowd gets copies of messages between its members. Such a copy is no answer of
// theirs, whenever it comes.

#include "bench/crowd.h"

#include "tests/support/hive_test.h"

namespace beeline::bench {
namespace {

using test::attach;
using test::patience;

class CrowdLead : public testing::Test {
 protected:
  void SetUp() override {
    lead_ = attach(kLeadName);
    for (std::size_t number = 0; lead_ && number < 2; ++number) {
      members_.push_back(attach(member_name(number), kLeadName));
      ASSERT_TRUE(members_.back());
    }
    ASSERT_TRUE(lead_);
    // One member writes to another; a copy of that waits in the lead's inbox.
    const auto other = members_[0]->peer(member_name(1));
    ASSERT_TRUE(other);
    ASSERT_TRUE(members_[0]->send(*other, "word"));
    test::await_queued(*lead_, 1);
  }
  void TearDown() override {
    members_.clear();
    lead_.reset();
    hive_.close();
  }

  // Has the rank of a copy, so it comes behind the copy that waits.
  void tell_lead(std::size_t number, std::string_view text) {
    const auto to = members_[number]->peer(kLeadName);
    ASSERT_TRUE(to);
    ASSERT_TRUE(members_[number]->send_until(*to, text, patience(), {.rank = kLow}));
  }

  test::ScratchHive hive_;
  std::optional<Agent> lead_;
  std::vector<std::optional<Agent>> members_;
};

TEST_F(CrowdLead, hears_a_member_behind_a_copy) {
  tell_lead(1, kHello);
  Pid from = 0;
  const auto heard = hear_one(*lead_, &from);
  ASSERT_TRUE(heard) << heard.error().text;
  EXPECT_EQ(*heard, kHello);
  EXPECT_EQ(from, members_[1]->pid());
}

TEST_F(CrowdLead, says_goodbye_although_a_copy_waits) {
  std::vector<Peer> peers;
  for (std::size_t number = 0; number < members_.size(); ++number) {
    const auto peer = lead_->peer(members_[number]->pid());
    ASSERT_TRUE(peer);
    peers.push_back(*peer);
    tell_lead(number, kBye);
  }
  const auto said = say_goodbye(*lead_, peers);
  EXPECT_TRUE(said) << said.error().text;
}

}  // namespace
}  // namespace beeline::bench
