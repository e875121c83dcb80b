// What a hive costs while nobody has anything to do: memory of its segments, and wake-ups.

#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <string>
#include <vector>

#include "src/os/process.h"
#include "tests/support/hive_test.h"
#include "tests/support/status_probe.h"

namespace beeline::test {

namespace {

// Bytes of memory of all segments that a process holds, each counted once.
std::uint64_t segment_bytes_of(pid_t process) {
  const std::string folder = "/proc/" + std::to_string(process) + "/fd/";
  std::uint64_t bytes = 0;
  std::set<ino_t> seen;
  DIR* listing = opendir(folder.c_str());
  if (listing == nullptr) return 0;
  while (const dirent* item = readdir(listing)) {
    const std::string path = folder + item->d_name;
    char target[256] = {};
    if (readlink(path.c_str(), target, sizeof(target) - 1) <= 0) continue;
    if (std::string(target).find("memfd:beeline-") == std::string::npos) continue;
    struct stat about {};
    if (stat(path.c_str(), &about) != 0 || !seen.insert(about.st_ino).second) continue;
    bytes += static_cast<std::uint64_t>(about.st_blocks) * 512;
  }
  closedir(listing);
  return bytes;
}

}  // namespace

TEST(FootprintTest, FiftyIdleAgentsWithLinksToParentAndSiblingsTakeUnder64MiB) {
  constexpr int kAgents = 50;
  ASSERT_TRUE(os::raise_fd_limit());
  ScratchHive hive;
  {
    std::vector<Agent> agents;
    auto lead = attach("lead");
    ASSERT_TRUE(lead);
    for (int i = 0; i < kAgents; ++i) {
      auto agent = attach("worker-" + std::to_string(i), "lead");
      ASSERT_TRUE(agent);
      agents.push_back(std::move(*agent));
    }
    for (Agent& agent : agents) {
      ASSERT_TRUE(agent.peer("lead"));
      for (const Agent& other : agents) {
        if (other.pid() == agent.pid()) continue;
        ASSERT_TRUE(agent.peer(other.pid()));
      }
    }
    // Everybody learns of the links to it, and opens its own for the receipts where it has none.
    for (Agent& agent : agents) EXPECT_FALSE(agent.next_notice());
    EXPECT_FALSE(lead->next_notice());
    EXPECT_EQ(hive.status().links, 2U * kAgents + kAgents * (kAgents - 1U));
    const std::uint64_t bytes = segment_bytes_of(hive.keeper());
    EXPECT_GT(bytes, 40ULL << 20) << "not all segments were counted";
    EXPECT_LT(bytes, 64ULL << 20);
    RecordProperty("segment_bytes", std::to_string(bytes));
    std::cout << "segments of " << kAgents << " idle agents and their parent: " << bytes / 1024
              << " KiB\n";
  }
  hive.close();
}

TEST(FootprintTest, AWaitingAgentIsNotWokenByAnythingButItsReScan) {
  ScratchHive hive;
  {
    auto agent = attach("idle");
    auto other = attach("other");
    ASSERT_TRUE(agent && other);
    const StatusProbe probe(hive.name(), getpid(), agent->pid());
    const std::uint64_t before = probe.sleeps();
    const auto received = agent->receive({.timeout = 1500ms});
    ASSERT_FALSE(received);
    EXPECT_EQ(received.error().code, ErrorCode::kTimeout);
    // A short wait, a longer one, and one that lasts for the rest.
    EXPECT_LE(probe.sleeps() - before, 4U);
  }
  hive.close();
}

}  // namespace beeline::test
