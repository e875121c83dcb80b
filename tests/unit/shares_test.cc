// Users share the scarce resources of a hive.

#include "src/control/shares.h"

#include <gtest/gtest.h>

namespace beeline::control {
namespace {

constexpr uid_t kOwner = 0;
constexpr Resource kPlaces = Resource::kPlaces;

// A hive with a hundred places.
class SharesTest : public testing::Test {
 protected:
  [[nodiscard]] std::size_t share(uid_t user, Claim claim) {
    stock_.used = shares_.used(kPlaces);
    return share_of(stock_, shares_.held(user, kPlaces), claim);
  }
  // Takes places for this user until there is none. Returns how many it holds then.
  std::size_t take_all(uid_t user) {
    const Claim claim = user == kOwner ? Claim::kOwner : Claim::kOther;
    while (shares_.held(user, kPlaces) < share(user, claim)) shares_.take(user, kPlaces, 1);
    return shares_.held(user, kPlaces);
  }

  Stock stock_{100, 0, 0, 0};
  Shares shares_;
};

TEST_F(SharesTest, TheUserOfTheHiveMayTakeAll) { EXPECT_EQ(take_all(kOwner), 100U); }

TEST_F(SharesTest, EachNewcomerGetsHalfOfTheRest) {
  EXPECT_EQ(take_all(1), 50U);
  EXPECT_EQ(take_all(2), 25U);
  EXPECT_EQ(take_all(3), 12U);
  EXPECT_EQ(take_all(1), 50U) << "whoever came first gets no more";
  EXPECT_EQ(take_all(kOwner), 13U);
}

TEST_F(SharesTest, ResourcesThatAUserGivesBackAreSharedAnew) {
  EXPECT_EQ(take_all(1), 50U);
  EXPECT_EQ(take_all(2), 25U);
  shares_.give_back(1, kPlaces, 50);
  EXPECT_EQ(shares_.held(1, kPlaces), 0U);
  EXPECT_EQ(take_all(2), 50U);
}

TEST_F(SharesTest, AUserThatHoldsMoreThanItsShareKeepsIt) {
  shares_.take(1, kPlaces, 90);
  EXPECT_EQ(share(1, Claim::kOther), 90U);
  EXPECT_EQ(take_all(1), 90U);
}

TEST_F(SharesTest, APartIsKeptBackForTheUserOfTheHiveAndForReturningAgents) {
  stock_.for_returning = 10;
  stock_.for_owner = 20;
  EXPECT_EQ(take_all(1), 35U) << "half of seventy";
  EXPECT_EQ(take_all(kOwner), 55U);
  EXPECT_EQ(share(kOwner, Claim::kOwner), 55U);
  EXPECT_EQ(share(1, Claim::kReturning), 45U);
  EXPECT_EQ(share(2, Claim::kOther), 0U);
}

TEST_F(SharesTest, MoreIsInUseThanThereIs) {
  shares_.take(1, kPlaces, 120);
  EXPECT_EQ(share(2, Claim::kOther), 0U);
  EXPECT_EQ(share(kOwner, Claim::kOwner), 0U);
  EXPECT_EQ(share(1, Claim::kReturning), 120U);
}

TEST_F(SharesTest, ResourcesAreCountedApartAndTheBiggestHolderIsKnown) {
  shares_.take(1, kPlaces, 3);
  shares_.take(2, kPlaces, 5);
  shares_.take(1, Resource::kConnections, 1);
  EXPECT_EQ(shares_.used(kPlaces), 8U);
  EXPECT_EQ(shares_.used(Resource::kConnections), 1U);
  EXPECT_EQ(shares_.biggest(kPlaces), 2U);
  EXPECT_EQ(shares_.biggest(Resource::kConnections), 1U);
}

}  // namespace
}  // namespace beeline::control
