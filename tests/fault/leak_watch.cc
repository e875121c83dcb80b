#include "tests/fault/leak_watch.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "tests/support/at_rest.h"
#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

// Segments that this process maps.
std::string list_mapped() {
  std::ifstream maps("/proc/self/maps");
  std::string text;
  for (std::string line; std::getline(maps, line);) {
    const std::size_t at = line.find("beeline-");
    if (at != std::string::npos) text += "\n  " + line.substr(at);
  }
  return text;
}
// The names of another process's descriptors.
std::string list_held(pid_t process) {
  std::string text;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/fd", error)) {
    text += "\n  " + std::filesystem::read_symlink(entry.path(), error).string();
  }
  return text;
}

}  // namespace

void LeakWatch::await(Agent& agent, pid_t keeper, pid_t coordinator) {
  const auto look = [&] { return leftovers_of(keeper, coordinator); };
  const Leftovers most = least + slack;
  const Deadline deadline = after(patience);
  Leftovers now = look();
  while (!now.fits(most) && std::chrono::steady_clock::now() < deadline) {
    (void)agent.receive({.timeout = 1ms, .filter = kNobody});
    now = look();
  }
  EXPECT_TRUE(now.fits(most)) << "left: " << describe(now) << "; before: " << describe(least)
                              << "; segments here:" << list_mapped()
                              << "\nheld here:" << list_held(::getpid())
                              << "\nthe keeper holds:" << list_held(keeper);
  // A new minimum counts only if it stays: the keeper may not have received all descriptors yet.
  if (least.fits(now)) return;
  const auto pause = [&] { (void)agent.receive({.timeout = 1ms, .filter = kNobody}); };
  const auto settled = look_at_rest({coordinator, keeper}, deadline, pause, look);
  if (settled) least = least_of(least, *settled);
}

}  // namespace beeline::test
