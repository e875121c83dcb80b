#include "tests/fault/holdings.h"

#include <dirent.h>

#include <fstream>

#include <fmt/format.h>

#include "tests/support/scratch_hive.h"

namespace beeline::test {

namespace {

std::size_t descriptors_of(pid_t process) {
  std::size_t count = 0;
  DIR* const listing = ::opendir(fmt::format("/proc/{}/fd", process).c_str());
  if (listing == nullptr) return 0;
  while (const dirent* entry = ::readdir(listing)) count += entry->d_name[0] != '.' ? 1 : 0;
  ::closedir(listing);
  return count;
}

std::size_t mapped_segments() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    count += line.find("memfd:beeline-") != std::string::npos ? 1 : 0;
  }
  return count;
}

}  // namespace

Holdings holdings_of(pid_t keeper, pid_t coordinator) {
  return {count_open_fds(), mapped_segments(), descriptors_of(keeper), descriptors_of(coordinator)};
}

std::string describe(const Holdings& held) {
  return fmt::format(
      "{} descriptors, {} segments mapped, {} descriptors of the keeper, {} of the coordinator",
      held.descriptors, held.segments, held.of_keeper, held.of_coordinator);
}

}  // namespace beeline::test
