// In-links that wait for room.

#include "src/agent/postponed_links.h"

#include <gtest/gtest.h>

namespace beeline {
namespace {

constexpr Pid kOwner = 7;
constexpr shm::LinkKey kEarly{shm::Incarnation(1000), 1};
constexpr shm::LinkKey kLate{shm::Incarnation(2000), 1};

TEST(PostponedLinks, AreSharedWithTheLifeBeforeForAsLongAsTheyWait) {
  PostponedLinks links;
  links.add_shared(kOwner, kEarly);
  EXPECT_TRUE(links.add(kOwner, kLate));
  EXPECT_FALSE(links.add(kOwner, kEarly)) << "it is announced again";
  EXPECT_TRUE(links.is_shared(kEarly));
  EXPECT_FALSE(links.is_shared(kLate));
  EXPECT_TRUE(links.has_older(kOwner, kLate.incarnation));
  links.remove(kEarly);
  EXPECT_FALSE(links.is_shared(kEarly));
  EXPECT_FALSE(links.has_older(kOwner, kLate.incarnation));
}

}  // namespace
}  // namespace beeline
