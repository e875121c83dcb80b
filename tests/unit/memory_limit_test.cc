// The limits between a segment and its memory, read from files as the kernel writes them, and in a
// memory cgroup if this user may make one.

#include "src/os/memory_limit.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "src/os/memfd.h"

namespace beeline::os {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMiB = 1ULL << 20;

// A machine with 1 GiB left. Its files are written into a directory.
class MemoryLimitTest : public testing::Test {
 protected:
  MemoryLimitTest() {
    std::string name = (fs::temp_directory_path() / "beeline-limit-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    write("/proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable:    1048576 kB\nSwapFree: 0 kB\n");
  }
  ~MemoryLimitTest() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  // `mounted` is the part of the hierarchy that the mount shows.
  void version2(const std::string& cgroup, const std::string& mounted = "/") const {
    write("/proc/self/cgroup", "0::" + cgroup + "\n");
    write("/proc/self/mountinfo", "20 1 0:1 / / rw - ext4 /dev/root rw\n31 20 0:26 " + mounted +
                                      " /cg rw,nosuid shared:9 - cgroup2 cgroup2 rw\n");
  }
  void limit2(const std::string& path, const std::string& limit, std::uint64_t usage,
              std::uint64_t cache = 0) const {
    write(path + "/memory.max", limit + "\n");
    write(path + "/memory.current", std::to_string(usage) + "\n");
    write(path + "/memory.stat", "anon 1\nshmem 999999999\ninactive_file " +
                                     std::to_string(cache / 2) + "\nactive_file " +
                                     std::to_string(cache / 2) + "\n");
  }
  [[nodiscard]] std::string refusal(std::uint64_t bytes) const {
    return MemoryLimit(root_).refusal(bytes).value_or("");
  }

  std::string root_;
};

TEST_F(MemoryLimitTest, TheMachineCountsWhereThereIsNoCgroup) {
  EXPECT_EQ(refusal(992 * kMiB), "");
  EXPECT_EQ(refusal(992 * kMiB + 1),
            "the machine has 1073741824 bytes left, of which 33554432 "
            "stay free");
}

TEST_F(MemoryLimitTest, TheTightestOfTheCgroupAndItsAncestorsCounts) {
  version2("/a/b");
  limit2("/cg/a/b", "max", 10 * kMiB);
  limit2("/cg/a", std::to_string(64 * kMiB), 40 * kMiB);
  EXPECT_EQ(refusal(20 * kMiB), "") << "of 24 MiB 4 stay free";
  const std::string refused = refusal(20 * kMiB + 1);
  EXPECT_NE(refused.find("memory cgroup /cg/a with a limit of 67108864 bytes"), std::string::npos);
  EXPECT_NE(refused.find("25165824 bytes left, of which 4194304 stay free"), std::string::npos);
  limit2("/cg", std::to_string(48 * kMiB), 47 * kMiB);
  EXPECT_NE(refusal(kMiB).find("memory cgroup /cg with"), std::string::npos);
}

TEST_F(MemoryLimitTest, PageCacheIsFreeAndSharedMemoryIsNot) {
  version2("/a");
  limit2("/cg/a", std::to_string(64 * kMiB), 64 * kMiB, 40 * kMiB);
  EXPECT_EQ(refusal(36 * kMiB), "");
  EXPECT_NE(refusal(36 * kMiB + 1), "");
}

TEST_F(MemoryLimitTest, AContainerThatShowsItsOwnCgroupAloneIsFound) {
  version2("/docker/1", "/docker/1");
  limit2("/cg", std::to_string(64 * kMiB), 0);
  EXPECT_NE(refusal(61 * kMiB), "");
  version2("/../other", "/");
  EXPECT_NE(refusal(61 * kMiB), "") << "what lies outside is not shown: that of the mount counts";
}

TEST_F(MemoryLimitTest, TheFirstVersionHasOtherNames) {
  write("/proc/self/cgroup", "9:name=systemd:/x\n4:cpu,memory:/job\n0::/\n");
  write("/proc/self/mountinfo",
        "33 30 0:29 / /cpu rw - cgroup cgroup rw,cpu\n"
        "34 30 0:30 / /mem rw - cgroup cgroup rw,cpu,memory\n");
  write("/mem/memory.limit_in_bytes", "9223372036854771712\n");
  write("/mem/memory.usage_in_bytes", "123\n");
  write("/mem/job/memory.limit_in_bytes", "67108864\n");
  write("/mem/job/memory.usage_in_bytes", "62914560\n");
  write("/mem/job/memory.stat", "inactive_file 0\ntotal_inactive_file 0\ntotal_active_file 4\n");
  EXPECT_EQ(refusal(4), "");
  EXPECT_NE(refusal(5).find("memory cgroup /mem/job with a limit of 67108864"), std::string::npos);
}

TEST_F(MemoryLimitTest, AnUnreadableLimitIsNoLimit) {
  version2("/a");
  write("/cg/a/memory.max", "nonsense");
  write("/proc/self/mountinfo", "\n- - -\n1 2 3 - cgroup2\n");
  EXPECT_EQ(refusal(kMiB), "");
  fs::remove_all(root_ + "/proc");
  EXPECT_NE(MemoryLimit(root_).refusal(~0ULL), std::nullopt) << "the machine itself";
}

// ---- A memory cgroup of this machine ------------------------------------------------------------

// Makes one below the mount of either version and removes it.
class RealCgroup {
 public:
  explicit RealCgroup(std::uint64_t limit_bytes) {
    const std::string name = "/beeline-test-" + std::to_string(::getpid());
    struct Version {
      const char* mount;
      const char* limit;
    };
    for (const Version& version : {Version{"/sys/fs/cgroup", "/memory.max"},
                                   Version{"/sys/fs/cgroup/memory", "/memory.limit_in_bytes"}}) {
      const std::string path = version.mount + name;
      if (::mkdir(path.c_str(), 0755) != 0) continue;
      // If the path is no cgroup of the kernel, this would create a file.
      const bool is_cgroup = fs::exists(path + version.limit);
      std::ofstream limit(is_cgroup ? path + version.limit : "/dev/full");
      limit << limit_bytes << std::flush;
      if (limit.good()) {
        path_ = path;
        return;
      }
      ::rmdir(path.c_str());
    }
  }
  ~RealCgroup() {
    if (!path_.empty()) ::rmdir(path_.c_str());
  }
  RealCgroup(const RealCgroup&) = delete;
  RealCgroup& operator=(const RealCgroup&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(MemoryCgroup, AllocationIsRefusedBeforeTheKernelKills) {
  const RealCgroup cgroup(64 * kMiB);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::ofstream procs(cgroup.path() + "/cgroup.procs");
    procs << ::getpid() << std::flush;
    if (cgroup.path().empty() || !procs.good()) ::_exit(77);
    auto fd = create_memfd("in-cgroup", 80 * kMiB);
    if (!fd || !allocate(fd->get(), {0, 40 * kMiB})) ::_exit(1);
    const auto refused = allocate(fd->get(), {40 * kMiB, 40 * kMiB});
    if (refused || refused.error().code != ErrorCode::kNoMemory) ::_exit(2);
    std::cout << refused.error().text << '\n';
    ::_exit(refused.error().text.find(cgroup.path()) == std::string::npos ? 3 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
    std::cout << "NOT TRIED this user may make no memory cgroup: allocation in one is refused\n";
    return;
  }
  EXPECT_EQ(status, 0) << "wait status";
}

}  // namespace
}  // namespace beeline::os
