// From attach to detach, at a coordinator without a process.

#include "src/control/lives.h"

#include <gtest/gtest.h>

#include "tests/support/dead_agent.h"

namespace beeline::control {
namespace {

// A life that attaches, and its home.
struct Newcomer {
  explicit Newcomer(test::BareHive& world) : world_(world) {
    auto connected = world.connect();
    EXPECT_TRUE(connected) << connected.error().text;
    if (connected) caller = std::move(*connected);
    EXPECT_TRUE(world.say(caller, build(AttachRequest{}, 1), {}));
  }
  [[nodiscard]] Life& life() { return *world_.life_of(caller); }
  Result<void> provide() {
    auto home = receive::HomeMemory::create("bare", caller.pid, caller.incarnation, {});
    if (!home) return tl::unexpected(home.error());
    auto fds = test::segments_of(caller, (*home)->fd());
    if (!fds) return tl::unexpected(fds.error());
    return take_segments(world_.hive(), *world_.hive().registry.agent(caller.pid), life(),
                         std::move(*fds));
  }

  Caller caller;

 private:
  test::BareHive& world_;
};

TEST(LivesTest, ALifeThatTheKeeperHasNotReceivedWasNotProvided) {
  test::DeafOutbox outbox;
  auto world = test::BareHive::make(outbox, shm::kMinMaxPayload);
  ASSERT_TRUE(world) << world.error().text;
  Newcomer kept(**world);
  Newcomer lost(**world);
  const auto provided = kept.provide();
  EXPECT_TRUE(provided) << provided.error().text;
  EXPECT_TRUE(kept.life().provided());
  (*world)->lose_keeper();
  EXPECT_FALSE(lost.provide());
  EXPECT_FALSE(lost.life().provided());
  EXPECT_EQ(lost.life().home, nullptr);
  EXPECT_FALSE(kept.provide());
  EXPECT_TRUE(kept.life().provided()) << "what it had shown before counts on";
}

}  // namespace
}  // namespace beeline::control
