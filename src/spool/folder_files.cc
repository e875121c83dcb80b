#include "src/spool/folder_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace beeline::spool {
namespace {

constexpr std::array<std::string_view, kPlaces> kPlaceNames = {"inbox", "processing", "outbox",
                                                               "failed", ".tmp"};
constexpr mode_t kDirMode = 0755;
constexpr mode_t kFileMode = 0644;
constexpr int kTempFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
constexpr int kReadFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};
struct Free {
  void operator()(char* text) const { ::free(text); }
};

std::int64_t ns_of(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

FileFacts facts_of(const struct stat& found) {
  return {found.st_ino, ns_of(found.st_mtim), ns_of(found.st_ctim), found.st_size,
          S_ISREG(found.st_mode)};
}

tl::unexpected<Failure> dir_failure(std::string_view call, std::string_view path, int error) {
  std::string_view next;
  if (error == ENOSPC || error == EDQUOT) next = "; free space on the disk and try again";
  if (error == EROFS) next = "; the file system is mounted read-only";
  if (error == EACCES || error == EPERM) next = "; give this user the right to write there";
  if (error == EMFILE || error == ENFILE) next = "; raise the limit of open files";
  return tl::unexpected<Failure>(
      Failure{Code::kMailboxDir, error,
              fmt::format("{}: {} of {}: {} (errno {}){}", text_of(Code::kMailboxDir), call, path,
                          std::system_category().message(error), error, next)});
}

// Makes a directory and those above it.
int make_dirs(const std::string& path) {
  if (::mkdir(path.c_str(), kDirMode) == 0 || errno == EEXIST) return 0;
  if (errno != ENOENT) return errno;
  const auto slash = path.find_last_of('/');
  if (slash == std::string::npos || slash == 0) return ENOENT;
  if (const int error = make_dirs(path.substr(0, slash)); error != 0) return error;
  return ::mkdir(path.c_str(), kDirMode) == 0 || errno == EEXIST ? 0 : errno;
}

Outcome<std::string> absolute(const std::string& dir) {
  if (dir.starts_with('/')) return dir;
  const std::unique_ptr<char, Free> here(::getcwd(nullptr, 0));
  if (!here) return dir_failure("getcwd", dir, errno);
  return fmt::format("{}/{}", here.get(), dir);
}

}  // namespace

std::string_view to_string(Place place) { return kPlaceNames[static_cast<std::size_t>(place)]; }

Outcome<FolderFiles> FolderFiles::open(const std::string& dir, Sync sync, Use use) {
  auto path = absolute(dir);
  if (!path) return tl::unexpected(path.error());
  while (path->size() > 1 && path->ends_with('/')) path->pop_back();
  FolderFiles files(std::move(*path), sync);
  const bool works = use == Use::kWork;
  if (const int error = works ? make_dirs(files.dir_) : 0; error != 0) {
    return dir_failure("mkdir", files.dir_, error);
  }
  for (std::size_t place = 0; place < kPlaces; ++place) {
    const std::string sub = fmt::format("{}/{}", files.dir_, kPlaceNames[place]);
    if (works && ::mkdir(sub.c_str(), kDirMode) != 0 && errno != EEXIST) {
      return dir_failure("mkdir", sub, errno);
    }
    files.fds_[place].reset(::open(sub.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!files.fds_[place].valid()) return dir_failure("open", sub, errno);
    if (works && ::faccessat(files.fds_[place].get(), ".", W_OK | X_OK, AT_EACCESS) != 0) {
      return dir_failure("access", sub, errno);
    }
  }
  struct statfs system {};
  files.exchanges_ =
      ::fstatfs(files.fd(Place::kTemp), &system) != 0 || system.f_type != TMPFS_MAGIC;
  return files;
}

std::string FolderFiles::path(const FileName& file) const {
  return fmt::format("{}/{}/{}", dir_, to_string(file.place), file.name);
}

tl::unexpected<Failure> FolderFiles::failed(std::string_view call, const FileName& file) const {
  return dir_failure(call, path(file), errno);
}

Outcome<void> FolderFiles::check_is_there(Place place) const {
  struct stat found {};
  if (::fstat(fd(place), &found) != 0) return failed("fstat", {place, "."});
  if (found.st_nlink == 0) {
    errno = ENOENT;
    return failed("the folder was removed; open it again. fstat", {place, "."});
  }
  return {};
}

Outcome<void> FolderFiles::write_all(int fd, std::string_view bytes, const FileName& file) const {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      if (written == 0) errno = ENOSPC;
      return failed("write", file);
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  if (sync_ != Sync::kNone && ::fdatasync(fd) != 0) return failed("fdatasync", file);
  return {};
}

Outcome<FolderFiles::Temp> FolderFiles::make_temp(std::string name) const {
  os::UniqueFd file(::openat(fd(Place::kTemp), name.c_str(), kTempFlags, kFileMode));
  if (!file.valid()) return failed("open", {Place::kTemp, name});
  return Temp{std::move(name), std::move(file)};
}

Outcome<FileFacts> FolderFiles::fill_temp(Temp& temp, std::string_view bytes) {
  const FileName name{Place::kTemp, temp.name};
  auto written = write_all(temp.file.get(), bytes, name);
  struct stat found {};
  if (written && ::fstat(temp.file.get(), &found) != 0) written = failed("fstat", name);
  temp.file.reset();
  if (written) return facts_of(found);
  drop_temp(temp);
  return tl::unexpected(std::move(written.error()));
}

// Sets the exact time. A shared disk has a clock of its own, which counts there.
Outcome<void> FolderFiles::set_time(int fd, const FileName& file) const {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const std::array<timespec, 2> times{now, now};
  if (!is_shared_ && ::futimens(fd, times.data()) != 0) return failed("futimens", file);
  return {};
}

Outcome<FolderFiles::Temp> FolderFiles::write_temp(std::string_view final_name,
                                                   std::string_view bytes, Time time) {
  std::string own_name;
  own_name.reserve(final_name.size() + 4);
  own_name.append(final_name).append(".tmp");
  auto temp = make_temp(std::move(own_name));
  // Another writer uses the name now, or one was killed and left it.
  while (!temp && temp.error().sys_errno == EEXIST) {
    temp = make_temp(fmt::format("{}.tmp.{}.{}", final_name, ::getpid(), ++temps_));
  }
  if (!temp) return temp;
  const FileName name{Place::kTemp, temp->name};
  auto written = write_all(temp->file.get(), bytes, name);
  if (written && time == Time::kExact) written = set_time(temp->file.get(), name);
  temp->file.reset();
  if (written) return temp;
  drop_temp(*temp);
  return tl::unexpected(std::move(written.error()));
}

void FolderFiles::drop_temp(const Temp& temp) {
  ::unlinkat(fd(Place::kTemp), temp.name.c_str(), 0);
}

Outcome<Moved> FolderFiles::move_new(const FileName& from, const FileName& to) {
  const std::string old_name(from.name);
  const std::string new_name(to.name);
  if (has_noreplace_) {
    if (::renameat2(fd(from.place), old_name.c_str(), fd(to.place), new_name.c_str(),
                    RENAME_NOREPLACE) == 0) {
      return Moved::kMoved;
    }
    if (errno == EEXIST) return Moved::kTaken;
    if (errno == ENOENT) return Moved::kGone;
    if (errno != EINVAL && errno != ENOSYS) return failed("renameat2", to);
    has_noreplace_ = false;
  }
  // A network file system: a second name can be made only where there is none, and then the first
  // one goes.
  if (::linkat(fd(from.place), old_name.c_str(), fd(to.place), new_name.c_str(), 0) != 0) {
    if (errno == EEXIST) return Moved::kTaken;
    if (errno == ENOENT) return Moved::kGone;
    return failed("linkat", to);
  }
  if (::unlinkat(fd(from.place), old_name.c_str(), 0) == 0) return Moved::kMoved;
  const int error = errno;
  ::unlinkat(fd(to.place), new_name.c_str(), 0);
  if (error == ENOENT) return Moved::kGone;
  errno = error;
  return failed("unlink", from);
}

Outcome<bool> FolderFiles::move_over(const FileName& from, const FileName& to) {
  if (::renameat(fd(from.place), std::string(from.name).c_str(), fd(to.place),
                 std::string(to.name).c_str()) == 0) {
    return true;
  }
  if (errno == ENOENT) return false;
  return failed("rename", to);
}

Outcome<void> FolderFiles::replace(const Temp& temp, const FileName& file) {
  const FileName from{Place::kTemp, temp.name};
  if (exchanges_) {
    if (::renameat2(fd(Place::kTemp), temp.name.c_str(), fd(file.place),
                    std::string(file.name).c_str(), RENAME_EXCHANGE) == 0) {
      drop_temp(temp);  // it has the old content now
      return {};
    }
    if (errno != EINVAL && errno != ENOSYS) return failed("renameat2", file);
    exchanges_ = false;
  }
  const auto moved = move_over(from, file);
  return moved ? Outcome<void>{} : tl::unexpected(moved.error());
}

Outcome<bool> FolderFiles::remove(const FileName& file) {
  if (::unlinkat(fd(file.place), std::string(file.name).c_str(), 0) == 0) return true;
  if (errno == ENOENT) return false;
  return failed("unlink", file);
}

Outcome<void> FolderFiles::sync_names(Place place) {
  if (sync_ == Sync::kFull && ::fsync(fd(place)) != 0) return failed("fsync", {place, "."});
  return {};
}

std::optional<FileFacts> FolderFiles::facts(const FileName& file) const {
  struct stat found {};
  if (::fstatat(fd(file.place), std::string(file.name).c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) {
    return std::nullopt;
  }
  return facts_of(found);
}

Outcome<std::optional<FileBytes>> FolderFiles::read(const FileName& file) const {
  const os::UniqueFd opened(::openat(fd(file.place), std::string(file.name).c_str(), kReadFlags));
  if (!opened.valid()) {
    if (errno == ENOENT) return std::nullopt;
    // A link, a device without a driver, a socket.
    if (errno == ELOOP || errno == ENXIO || errno == ENODEV) return FileBytes{};
    return failed("open", file);
  }
  struct stat found {};
  if (::fstat(opened.get(), &found) != 0) return failed("fstat", file);
  FileBytes result{facts_of(found), {}};
  if (!result.facts.is_regular || result.facts.bytes > static_cast<std::int64_t>(kMostFileBytes)) {
    return result;
  }
  // One byte more than its size: a short read then says that this was all.
  std::size_t filled = 0;
  result.bytes.resize(static_cast<std::size_t>(result.facts.bytes) + 1);
  for (;;) {
    const ssize_t got =
        ::read(opened.get(), result.bytes.data() + filled, result.bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("read", file);
    filled += static_cast<std::size_t>(got);
    if (got == 0 || filled < result.bytes.size()) break;
    if (filled > kMostFileBytes) break;
    result.bytes.resize(result.bytes.size() * 2);
  }
  result.bytes.resize(filled);
  result.facts.bytes = static_cast<std::int64_t>(filled);
  return result;
}

std::optional<std::string> FolderFiles::read_again(const FileName& file) {
  constexpr std::size_t kMostAtOnce = std::size_t{64} << 10;
  const os::UniqueFd opened(::openat(fd(file.place), std::string(file.name).c_str(), kReadFlags));
  if (!opened.valid()) return std::nullopt;
  buffer_.resize(kMostAtOnce);
  const ssize_t got = ::read(opened.get(), buffer_.data(), buffer_.size());
  if (got < 0 || static_cast<std::size_t>(got) == buffer_.size()) return std::nullopt;
  return buffer_.substr(0, static_cast<std::size_t>(got));
}

bool FolderFiles::is_being_written(const FileName& file) const {
  const os::UniqueFd opened(::openat(fd(file.place), std::string(file.name).c_str(), kReadFlags));
  if (!opened.valid()) return false;
  // The kernel gives a read lease only while nobody has the file open for writing.
  if (::fcntl(opened.get(), F_SETLEASE, F_RDLCK) == 0) {
    ::fcntl(opened.get(), F_SETLEASE, F_UNLCK);
    return false;
  }
  return errno == EAGAIN;
}

Outcome<bool> FolderFiles::touch(const FileName& file) {
  if (::utimensat(fd(file.place), std::string(file.name).c_str(), nullptr, AT_SYMLINK_NOFOLLOW) ==
      0) {
    return true;
  }
  if (errno == ENOENT) return false;
  return failed("utimensat", file);
}

Outcome<std::vector<std::string>> FolderFiles::names(Place place) const {
  // A descriptor of its own has a position of its own.
  const int opened = ::openat(fd(place), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return failed("open", {place, "."});
  DIR* const dir = ::fdopendir(opened);
  if (dir == nullptr) {
    const int error = errno;
    ::close(opened);
    errno = error;
    return failed("opendir", {place, "."});
  }
  const std::unique_ptr<DIR, CloseDir> owner(dir);
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(dir);
    if (entry == nullptr) break;
    if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
    names.emplace_back(entry->d_name);
  }
  if (errno != 0) return failed("readdir", {place, "."});
  return names;
}

}  // namespace beeline::spool
