// Limits of a child: of its resources, and of its output.

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/steward/control_groups.h"
#include "tests/steward/steward_fixture.h"

namespace beeline::steward::test {
namespace {

using Limits = StewardTest;

// More than the shadow memory of an address sanitizer.
constexpr std::uint64_t kMemory = 1ULL << 46;

TEST_F(Limits, AChildHasItsLimits) {
  SpawnOptions options = child("limited");
  options.limits.cpu_seconds = 77;
  options.limits.open_files = 99;
  options.limits.memory_bytes = kMemory;
  spawn(options);
  EXPECT_EQ(ask("limited", "limit " + std::to_string(RLIMIT_CPU)), "77");
  EXPECT_EQ(ask("limited", "limit " + std::to_string(RLIMIT_NOFILE)), "99");
  if (!ControlGroups::find().are_usable()) {
    EXPECT_EQ(ask("limited", "limit " + std::to_string(RLIMIT_AS)), std::to_string(kMemory));
  }
}

// Only pid 1 gives a child another user than its parent's, so a command asks for it.
TEST_F(Limits, AChildRunsAsItsUser) {
  if (::geteuid() != 0) return;  // only root may start processes of others
  AttachOptions command;
  command.name = "command";
  command.temporary = true;
  auto operator_agent = Agent::attach(command);
  ASSERT_TRUE(operator_agent) << operator_agent.error().text;
  SpawnOptions options = child("nobody");
  options.command = {"sh", "-c", "id -u; id -g; exit 3"};
  options.parent = "1";
  options.uid = 65'534;
  const auto spawned = operator_agent->processes().spawn(options);
  ASSERT_FALSE(spawned);
  EXPECT_NE(spawned.error().text.find("65534\n65534"), std::string::npos) << spawned.error().text;
  options.parent = "boss";
  const auto refused = operator_agent->processes().spawn(options);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("user mismatch"), std::string::npos) << refused.error().text;
}

TEST_F(Limits, ALimitThatNobodyCanKeepIsRefused) {
  if (ControlGroups::find().are_usable()) return;  // this machine can keep it
  SpawnOptions options = child("many");
  options.limits.processes = 10;
  const auto spawned = processes().spawn(options);
  ASSERT_FALSE(spawned);
  EXPECT_NE(spawned.error().text.find("control groups"), std::string::npos) << spawned.error().text;
}

TEST_F(Limits, TheOutputIsBoundedAndKeepsItsEnd) {
  SpawnOptions options = child("flood");
  options.limits.output_bytes = 64 << 10;
  const std::string program = options.command.front();
  options.command = {"sh", "-c", program + " flood 200000; exec sleep 1000"};
  const Pid pid = spawn(options);
  const std::string log = listed("flood")->log;
  struct stat facts {};
  const Deadline end = after(kPatience);
  do {
    ASSERT_EQ(::stat(log.c_str(), &facts), 0);
    ASSERT_LT(std::chrono::steady_clock::now(), end);
  } while (facts.st_size < 4 << 20 || facts.st_blocks * 512 > 100 << 10);
  ASSERT_TRUE(processes().kill(pid));
  EXPECT_TRUE(wait(pid).output.ends_with("line 200000 of the flood"));
}

}  // namespace
}  // namespace beeline::steward::test
