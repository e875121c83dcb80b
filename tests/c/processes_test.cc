// Processes through the C interface: nonsense is refused before anything is asked.

#include <string>

#include "src/c/spawn_words.h"
#include "tests/c/c_hive.h"

namespace beeline::test {
namespace {

class CProcesses : public CHive {};

#define EXPECT_REFUSED(call, words) \
  EXPECT_EQ(call, BEELINE_INVALID); \
  EXPECT_SAYS(words)

TEST_F(CProcesses, NullIsRefused) {
  beeline_spawn_options options;
  beeline_spawn_options_init(&options);
  const CAgent boss = attach_c("boss");
  beeline_agent* const agent = boss.get();
  beeline_pid pid = 7;
  EXPECT_REFUSED(beeline_spawn(nullptr, &options, &pid, nullptr), "`agent` is null");
  EXPECT_REFUSED(beeline_spawn(agent, nullptr, &pid, nullptr), "`options` is null");
  EXPECT_REFUSED(beeline_spawn(agent, &options, nullptr, nullptr), "`pid` is null");
  EXPECT_REFUSED(beeline_kill_child(nullptr, {}, true, nullptr), "`agent` is null");
  EXPECT_REFUSED(beeline_wait_child(agent, {}, 0, nullptr), "`end` is null");
  EXPECT_REFUSED(beeline_list_processes(agent, true, nullptr), "`processes` is null");
  EXPECT_REFUSED(beeline_signal_child(nullptr, {}, BEELINE_SIGNAL_TERM, nullptr),
                 "`agent` is null");
  EXPECT_REFUSED(beeline_sleep_child(nullptr, {}, nullptr), "`agent` is null");
  EXPECT_REFUSED(beeline_wake_child(nullptr, {}, nullptr), "`agent` is null");
  beeline_pids_free(nullptr);
  beeline_exit_free(nullptr);
  beeline_processes_free(nullptr);
}

TEST_F(CProcesses, AListWithAHoleAndNobodyAsChildAreRefused) {
  const CAgent boss = attach_c("boss");
  beeline_pid pid = 7;
  beeline_spawn_options options;
  beeline_spawn_options_init(&options);
  const char* const command[] = {"sh", nullptr};
  options.command = command;
  options.command_count = 2;
  EXPECT_REFUSED(beeline_spawn(boss.get(), &options, &pid, nullptr),
                 "`options->command` has a null pointer at 1");
  EXPECT_EQ(pid, 0U);
  options.command_count = 1;
  const beeline_pair variable{{"A", 1}, {nullptr, 1}};
  options.environment = &variable;
  options.environment_count = 1;
  EXPECT_REFUSED(beeline_spawn(boss.get(), &options, &pid, nullptr),
                 "`options->environment` has a null pointer at 0");
  EXPECT_REFUSED(beeline_kill_child(boss.get(), beeline_peer_of(0), true, nullptr),
                 "0 is no agent");
  const char* state = "old";
  EXPECT_REFUSED(beeline_wake_child(boss.get(), beeline_peer_of(0), &state), "0 is no agent");
  EXPECT_EQ(state, nullptr);
  for (const int32_t signal : {-1, 8}) {
    EXPECT_REFUSED(beeline_signal_child(boss.get(), beeline_peer_of(7), signal, nullptr),
                   "`signal` is none of BEELINE_SIGNAL_*");
  }
}

TEST(CSpawnOptions, TheDefaultsAreThoseOfCpp) {
  beeline_spawn_options given;
  beeline_spawn_options_init(&given);
  SpawnOptions read;
  ASSERT_OK(c::read_options("call", &given, read));
  const SpawnOptions usual;
  EXPECT_EQ(read.role, usual.role);
  EXPECT_EQ(read.ready_within, usual.ready_within);
  EXPECT_EQ(read.grace, usual.grace);
  EXPECT_EQ(read.limits.max_children, usual.limits.max_children);
  EXPECT_EQ(read.limits.output_bytes, usual.limits.output_bytes);
  EXPECT_FALSE(read.uid);
  given.sets_uid = true;
  given.key = "once";
  given.grace_ns = 1;
  ASSERT_OK(c::read_options("call", &given, read));
  EXPECT_EQ(read.uid, 0U);
  EXPECT_EQ(read.key, "once");
  EXPECT_EQ(read.grace, std::chrono::milliseconds(1)) << "rounded up: no grace is another wish";
}

}  // namespace
}  // namespace beeline::test
