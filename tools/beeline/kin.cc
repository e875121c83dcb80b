#include "tools/beeline/kin.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

namespace beeline::cli {

// A process that ends while we look is left out; so are zombies, which run no more.
Kin::Processes Kin::all() {
  Processes found;
  std::error_code error;
  std::filesystem::directory_iterator entry("/proc", error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename();
    pid_t pid = 0;
    const auto number = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (number.ec != std::errc() || number.ptr != name.data() + name.size()) continue;
    std::ifstream file(entry->path() / "stat");
    const std::string line{std::istreambuf_iterator<char>(file), {}};
    // The name of the program stands in brackets, and may hold some.
    const auto bracket = line.rfind(')');
    if (bracket == std::string::npos) continue;
    std::istringstream rest(line.substr(bracket + 1));
    char state = ' ';
    Process process;
    if (!(rest >> state >> process.parent >> process.group >> process.session)) continue;
    if (state != 'Z' && state != 'X') found[pid] = process;
  }
  return found;
}

bool Kin::look() {
  const Processes processes = all();
  const pid_t self = ::getpid();
  const pid_t session = ::getsid(0);
  Processes members;
  const auto belongs = [&](pid_t pid, const Process& process) {
    if (members.count(process.parent) != 0) return true;
    return process.parent == self && (process.session == session || signalled_.count(pid) != 0);
  };
  for (bool grows = true; grows;) {
    grows = false;
    for (const auto& [pid, process] : processes) {
      if (members.count(pid) != 0 || !belongs(pid, process)) continue;
      members[pid] = process;
      grows = true;
    }
  }
  members_ = std::move(members);
  return !members_.empty();
}

void Kin::signal(int number) {
  signalled_ = members_;
  // The group at once, so that none of it can start another one in between.
  const bool has_group = std::any_of(members_.begin(), members_.end(), [this](const auto& member) {
    return member.second.group == group_;
  });
  if (has_group) (void)::kill(-group_, number);
  for (const auto& [pid, process] : members_) {
    if (process.group != group_) (void)::kill(pid, number);
  }
}

}  // namespace beeline::cli
