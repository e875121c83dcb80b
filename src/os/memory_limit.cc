#include "src/os/memory_limit.h"

#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include "src/os/text_file.h"

namespace beeline::os {
namespace {

// The most memory that there may be, and how much of it is left.
struct Room {
  std::string owner;
  std::uint64_t free_bytes = 0;
  std::uint64_t reserve_bytes = 0;
  [[nodiscard]] bool holds(std::uint64_t bytes) const {
    return free_bytes >= reserve_bytes && bytes <= free_bytes - reserve_bytes;
  }
};

// How the two versions of cgroups name their files.
struct Names {
  std::string_view limit;
  std::string_view usage;
  std::string_view inactive;  // in memory.stat: page cache, which the kernel takes back
  std::string_view active;
};
constexpr Names kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file ",
                          "total_active_file "};
constexpr std::uint64_t kNoLimit = 1ULL << 62;  // version 1 says "none" with a number above it
constexpr Names kVersion2{"memory.max", "memory.current", "inactive_file ", "active_file "};

using Mount = MemoryLimit::Mount;

std::optional<std::uint64_t> number_in(std::string_view text) {
  const auto digits = text.find_first_not_of(' ');
  if (digits == std::string_view::npos) return std::nullopt;
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(text.data() + digits, text.data() + text.size(), number);
  if (parsed.ec != std::errc()) return std::nullopt;
  return number;
}

// The number behind a name at the beginning of a line.
std::optional<std::uint64_t> number_of(std::string_view text, std::string_view name) {
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view line = text.substr(at, text.find('\n', at) - at);
    if (line.starts_with(name)) return number_in(line.substr(name.size()));
    at += line.size() + 1;
  }
  return std::nullopt;
}

template <typename Visit>
void each_line(std::string_view text, Visit&& visit) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    visit(line);
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::string_view word = line.substr(0, line.find(' '));
    if (!word.empty()) words.push_back(word);
    line.remove_prefix(std::min(line.size(), word.size() + 1));
  }
  return words;
}

bool lists(std::string_view list, std::string_view wanted) {
  while (!list.empty()) {
    const std::string_view one = list.substr(0, list.find(','));
    if (one == wanted) return true;
    list.remove_prefix(std::min(list.size(), one.size() + 1));
  }
  return false;
}

// The line of mountinfo: id parent device ROOT POINT options... - TYPE source OPTIONS.
std::optional<Mount> find_mount(std::string_view mounts, bool version2) {
  std::optional<Mount> found;
  each_line(mounts, [&](std::string_view line) {
    const auto words = words_of(line);
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (found || words.size() < 6 || words.end() - dash < 4) return;
    const bool fits =
        version2 ? dash[1] == "cgroup2" : dash[1] == "cgroup" && lists(dash[3], "memory");
    if (fits) found = Mount{std::string(words[4]), std::string(words[3])};
  });
  return found;
}

// The line of /proc/self/cgroup: NUMBER:CONTROLLERS:PATH, of version 2 0::PATH.
std::optional<std::string> find_cgroup(std::string_view cgroups, bool version2) {
  std::optional<std::string> found;
  each_line(cgroups, [&](std::string_view line) {
    const auto first = line.find(':');
    const auto second = line.find(':', first == std::string_view::npos ? first : first + 1);
    if (second == std::string_view::npos) return;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const bool fits = version2 ? line.starts_with("0::") : lists(controllers, "memory");
    if (fits) found = std::string(line.substr(second + 1));
  });
  return found;
}

// The path below the mount. A container may show only its own cgroup there and yet name the path of
// the host, or lie outside of the shown part.
std::string path_in_mount(const Mount& mount, std::string path) {
  if (mount.root != "/" && path.starts_with(mount.root)) path.erase(0, mount.root.size());
  if (path.find("..") != std::string::npos || path == "/") path.clear();
  return path;
}

class Look {
 public:
  Look(const std::string& root, std::uint64_t wanted_bytes)
      : root_(root), wanted_bytes_(wanted_bytes) {}

  [[nodiscard]] const std::optional<Room>& tightest() const { return tightest_; }

  // The kernel's estimate of how much can be had before it kills a process; the whole machine if
  // there is no /proc to tell.
  void at_machine() {
    const std::string text = read_text_file(root_ + "/proc/meminfo");
    auto memory = number_of(text, "MemAvailable:");
    if (memory) {
      *memory = (*memory + number_of(text, "SwapFree:").value_or(0)) * 1024;
    } else {
      struct sysinfo info {};
      if (::sysinfo(&info) != 0) return;
      memory = (std::uint64_t{info.totalram} + info.totalswap) * info.mem_unit;
    }
    add({"the machine", *memory, kReserveBytes});
  }

  // Its own cgroup and all above it.
  void at_cgroups(const std::optional<Mount>& mount, bool version2) {
    if (!mount) return;
    const auto cgroup = find_cgroup(read_text_file(root_ + "/proc/self/cgroup"), version2);
    if (!cgroup) return;
    std::string path = path_in_mount(*mount, *cgroup);
    for (;;) {
      at_cgroup(mount->point + path, version2 ? kVersion2 : kVersion1);
      if (path.empty()) return;
      path.erase(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
  }

 private:
  void at_cgroup(const std::string& path, const Names& names) {
    const std::string at = root_ + path + "/";
    const auto limit = number_in(read_text_file(at + std::string(names.limit)));  // "max": none
    if (!limit || *limit >= kNoLimit) return;
    const auto usage = number_in(read_text_file(at + std::string(names.usage)));
    if (!usage) return;
    Room room{"the memory cgroup " + path + " with a limit of " + std::to_string(*limit) +
                  " bytes (" + std::string(names.limit) + ")",
              *limit - std::min(*limit, *usage), std::min(kReserveBytes, *limit / 16)};
    // The page cache is read only when it matters, because the kernel adds it up over all CPUs.
    if (!room.holds(wanted_bytes_)) {
      const std::string text = read_text_file(at + "memory.stat");
      const std::uint64_t cache =
          number_of(text, names.inactive).value_or(0) + number_of(text, names.active).value_or(0);
      room.free_bytes = *limit - std::min(*limit, *usage - std::min(*usage, cache));
    }
    add(std::move(room));
  }

  void add(Room room) {
    const auto left = [](const Room& of) {
      return of.free_bytes - std::min(of.free_bytes, of.reserve_bytes);
    };
    if (!tightest_ || left(room) < left(*tightest_)) tightest_ = std::move(room);
  }

  const std::string& root_;
  std::uint64_t wanted_bytes_;
  std::optional<Room> tightest_;
};

}  // namespace

MemoryLimit::MemoryLimit(std::string root) : root_(std::move(root)) {
  const std::string mounts = read_text_file(root_ + "/proc/self/mountinfo");
  version1_ = find_mount(mounts, false);
  version2_ = find_mount(mounts, true);
}

std::optional<std::string> MemoryLimit::refusal(std::uint64_t bytes) const {
  Look look(root_, bytes);
  look.at_machine();
  look.at_cgroups(version1_, false);
  look.at_cgroups(version2_, true);
  const auto& room = look.tightest();
  if (!room || room->holds(bytes)) return std::nullopt;
  return room->owner + " has " + std::to_string(room->free_bytes) + " bytes left, of which " +
         std::to_string(room->reserve_bytes) + " stay free";
}

std::optional<std::string> file_size_refusal(std::uint64_t bytes) {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
      bytes <= limit.rlim_cur) {
    return std::nullopt;
  }
  return "it would be a file of " + std::to_string(bytes) + " bytes, and this process may write " +
         std::to_string(limit.rlim_cur) + " (RLIMIT_FSIZE); raise `ulimit -f`";
}

}  // namespace beeline::os
