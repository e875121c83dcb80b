// The costs of a hive: memory of its segments, wake-ups while it is idle, and address space. Also
// the effect on that when a process locks its memory, dumps core, or has little memory.

#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "src/os/process.h"
#include "tests/support/hive_test.h"
#include "tests/support/status_probe.h"

namespace beeline::test {

namespace {

// Bytes of memory of all segments of a kind that a process holds, each counted once.
std::uint64_t segment_bytes_of(pid_t process, const std::string& kind = "") {
  const std::string folder = "/proc/" + std::to_string(process) + "/fd/";
  std::uint64_t bytes = 0;
  std::set<ino_t> seen;
  DIR* listing = opendir(folder.c_str());
  if (listing == nullptr) return 0;
  while (const dirent* item = readdir(listing)) {
    const std::string path = folder + item->d_name;
    char target[256] = {};
    if (readlink(path.c_str(), target, sizeof(target) - 1) <= 0) continue;
    const std::string name = target;
    if (name.find("memfd:beeline-") == std::string::npos) continue;
    if (name.find(kind) == std::string::npos) continue;
    struct stat about {};
    if (stat(path.c_str(), &about) != 0 || !seen.insert(about.st_ino).second) continue;
    bytes += static_cast<std::uint64_t>(about.st_blocks) * 512;
  }
  closedir(listing);
  return bytes;
}

// Bytes of address space that this process uses for links.
std::uint64_t link_addresses() {
  std::ifstream maps("/proc/self/maps");
  std::uint64_t bytes = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("-link-") == std::string::npos) continue;
    const std::size_t dash = line.find('-');
    bytes += std::stoull(line.substr(dash + 1), nullptr, 16) - std::stoull(line, nullptr, 16);
  }
  return bytes;
}

constexpr int kPeers = 8;
constexpr std::uint64_t kLinks = 2 * kPeers;  // there and back

// A hub and its peers, all in this process. Each sends something small and `large` bytes, both
// ways.
std::vector<Agent> talk(std::size_t large) {
  std::vector<Agent> agents;
  agents.push_back(std::move(*attach("hub")));
  for (int i = 0; i < kPeers; ++i) {
    agents.push_back(std::move(*attach("peer-" + std::to_string(i), "hub")));
  }
  const auto say = [&](Agent& from, Agent& to) {
    const Peer peer = peer_of(from, std::to_string(to.pid()));
    EXPECT_TRUE(from.send_until(peer, "small", patience()));
    if (large != 0) {
      EXPECT_TRUE(from.send_until(peer, std::string(large, 'x'), patience()));
    }
    for (int taken = 0; taken < (large != 0 ? 2 : 1); ++taken) {
      Message message = next_message(to);
      if (message.valid()) message.done();
    }
  };
  for (int i = 1; i <= kPeers; ++i) {
    say(agents[static_cast<std::size_t>(i)], agents[0]);
    say(agents[0], agents[static_cast<std::size_t>(i)]);
  }
  return agents;
}

// A process that does something and ends; its wait status.
int status_of_process(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

void limit(int resource, rlim_t bytes) {
  struct rlimit now {};
  ASSERT_EQ(::getrlimit(static_cast<__rlimit_resource>(resource), &now), 0);
  now.rlim_cur = std::min(bytes, now.rlim_max);
  ASSERT_EQ(::setrlimit(static_cast<__rlimit_resource>(resource), &now), 0);
}

}  // namespace

// ---- Address space and memory that nobody asked for ---------------------------------------------

TEST(FootprintTest, ALinkOfSmallMessagesTakesTensOfKibibytesOfAddresses) {
  ScratchHive hive;
  {
    const auto agents = talk(0);
    // Owner and reader are one process here.
    EXPECT_LE(link_addresses(), kLinks * (144U << 10));
    EXPECT_GE(link_addresses(), kLinks * (40U << 10));
  }
  hive.close();
}

// The kernel then touches every page of every mapping, which allocates all holes.
TEST(FootprintTest, ALockOfAllMemoryTakesNoMoreOfLinks) {
  ScratchHive hive;
  {
    auto agents = talk(100'000);
    const std::uint64_t links = segment_bytes_of(hive.keeper(), "-link-");
    const std::uint64_t all = segment_bytes_of(hive.keeper());
    if (::mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
      std::cout << "NOT TRIED mlockall is not permitted: it allocates no holes of links\n";
    } else {
      EXPECT_LE(segment_bytes_of(hive.keeper(), "-link-"), links + kLinks * (64U << 10));
      // Homes and the directory are as long as they may become.
      EXPECT_LE(segment_bytes_of(hive.keeper()), all + (16U << 20));
      // A slab that is mapped from now on is locked, and only that slab.
      const std::uint64_t locked = segment_bytes_of(hive.keeper(), "-link-");
      const Peer peer = peer_of(agents[0], "peer-0");
      EXPECT_TRUE(agents[0].send_until(peer, std::string(5U << 20, 'y'), patience()));
      EXPECT_LE(segment_bytes_of(hive.keeper(), "-link-"), locked + (17U << 20));
      (void)::munlockall();
      Message message = next_message(agents[1]);
      ASSERT_TRUE(message.valid());
      EXPECT_EQ(message.payload().size(), 5U << 20);
      message.done();
    }
  }
  hive.close();
}

TEST(FootprintTest, ACoreDumpTakesNoMemoryOfTheHive) {
  ScratchHive hive;
  const std::filesystem::path folder = std::filesystem::path(hive.directory()) / "core";
  std::filesystem::create_directory(folder);
  int ready[2];
  int go[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(go), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::signal(SIGABRT, SIG_DFL);
    std::filesystem::current_path(folder);
    limit(RLIMIT_CORE, 1U << 30);
    const auto agents = talk(100'000);
    char byte = 0;
    (void)!::write(ready[1], &byte, 1);
    (void)!::read(go[0], &byte, 1);
    std::abort();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  const std::uint64_t before = segment_bytes_of(hive.keeper());
  ASSERT_EQ(::write(go[1], &byte, 1), 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << status;
  EXPECT_LE(segment_bytes_of(hive.keeper()), before + (1U << 20));
  if (!WCOREDUMP(status)) std::cout << "NOT TRIED no core is written here: it takes no memory\n";
  for (const int end : {ready[0], ready[1], go[0], go[1]}) ::close(end);
  std::filesystem::remove_all(folder);
  hive.close();
}

// SIGXFSZ would end a process that opens a link, and the receiver of a message.
TEST(FootprintTest, ASegmentBeyondTheLimitOfFileSizesIsNoMemory) {
  ScratchHive hive;
  const int status = status_of_process([] {
    ::signal(SIGXFSZ, SIG_DFL);
    limit(RLIMIT_FSIZE, 3U << 20);
    auto agents = talk(50'000);
    const Peer peer = peer_of(agents[0], "peer-0");
    const auto loan = agents[0].loan(peer, 5U << 20);
    ASSERT_FALSE(loan);
    EXPECT_EQ(loan.error().code, ErrorCode::kNoMemory);
    EXPECT_NE(loan.error().text.find("ulimit -f"), std::string::npos) << loan.error().text;
    EXPECT_EQ(agents[0].send(peer, std::string(5U << 20, 'x')).status, SendStatus::kNoMemory);
    limit(RLIMIT_FSIZE, 1U << 20);  // less than an inbox takes
    const auto refused = Agent::attach(named("late"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kNoMemory);
    EXPECT_NE(refused.error().text.find("ulimit -f"), std::string::npos) << refused.error().text;
    agents.clear();
  });
  EXPECT_EQ(status, 0) << "wait status";
  hive.close();
}

// ---- Nothing to do ------------------------------------------------------------------------------

TEST(FootprintTest, FiftyIdleAgentsWithLinksToParentAndSiblingsTakeUnder96MiB) {
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
    // Every agent learns of the links to it, and opens its own link for the receipts if it has
    // none.
    for (Agent& agent : agents) EXPECT_FALSE(agent.next_notice());
    EXPECT_FALSE(lead->next_notice());
    EXPECT_EQ(hive.status().links, 2U * kAgents + kAgents * (kAgents - 1U));
    const std::uint64_t bytes = segment_bytes_of(hive.keeper());
    EXPECT_GT(bytes, 80ULL << 20) << "not all segments were counted";
    EXPECT_LT(bytes, 96ULL << 20);
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
