#include "src/control/program_check.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <string_view>

#include <fmt/format.h>

namespace beeline::control {
namespace {

// True for our user's private group, which has the user's name and no other member. Under a umask
// of 002 that group can write everything that the user builds.
bool is_ours_alone(gid_t group) {
  std::array<char, 16384> user_memory{};
  std::array<char, 16384> group_memory{};
  struct passwd user {};
  struct group entry {};
  struct passwd* us = nullptr;
  struct group* found = nullptr;
  (void)::getpwuid_r(::geteuid(), &user, user_memory.data(), user_memory.size(), &us);
  (void)::getgrgid_r(group, &entry, group_memory.data(), group_memory.size(), &found);
  if (us == nullptr || found == nullptr) return false;
  const std::string_view name = us->pw_name;
  if (us->pw_gid != group || name != found->gr_name) return false;
  for (char** member = found->gr_mem; *member != nullptr; ++member) {
    if (name != *member) return false;
  }
  return true;
}

// The fault in the write permissions of a file or directory; nothing if they are good.
std::optional<std::string> fault_of(const struct stat& found) {
  if (found.st_uid != ::geteuid() && found.st_uid != 0) {
    return fmt::format("belongs to uid {}, neither to us (uid {}) nor to root", found.st_uid,
                       ::geteuid());
  }
  // Other users may add files there, but cannot replace those of ours and of root.
  if (S_ISDIR(found.st_mode) && (found.st_mode & S_ISVTX) != 0) return std::nullopt;
  if ((found.st_mode & S_IWOTH) != 0) {
    return fmt::format("can be written by everybody (mode {:o})", found.st_mode & 07777);
  }
  if ((found.st_mode & S_IWGRP) != 0 && found.st_gid != 0 && !is_ours_alone(found.st_gid)) {
    return fmt::format(
        "can be written by group {} (mode {:o}), which may have other members: chmod g-w it",
        found.st_gid, found.st_mode & 07777);
  }
  return std::nullopt;
}

tl::unexpected<Error> refused(const std::string& program, std::string_view what,
                              std::string_view fault) {
  return fail(ErrorCode::kDenied, what == program ? fmt::format("{} {}", program, fault)
                                                  : fmt::format("{}: {} {}", program, what, fault));
}

}  // namespace

Result<std::optional<std::string>> check_program(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path.c_str(), nullptr),
                                                             &std::free);
  if (resolved == nullptr) return std::optional<std::string>();
  const std::string program(resolved.get());
  struct stat found {};
  if (::stat(program.c_str(), &found) != 0) return std::optional<std::string>();
  if (!S_ISREG(found.st_mode)) return refused(program, program, "is not a regular file");
  if (const auto fault = fault_of(found)) return refused(program, program, *fault);
  if (::faccessat(AT_FDCWD, program.c_str(), X_OK, AT_EACCESS) != 0) {
    return refused(program, program, "cannot be executed by us");
  }
  for (std::size_t end = program.rfind('/'); end != std::string::npos;
       end = end == 0 ? std::string::npos : program.rfind('/', end - 1)) {
    const std::string directory = end == 0 ? "/" : program.substr(0, end);
    if (::stat(directory.c_str(), &found) != 0) {
      return refused(program, directory, "cannot be looked at");
    }
    if (const auto fault = fault_of(found)) return refused(program, directory, *fault);
  }
  return std::optional<std::string>(program);
}

}  // namespace beeline::control
