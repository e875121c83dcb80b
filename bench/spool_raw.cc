#include "bench/spool_raw.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "src/os/error.h"

namespace beeline::bench {
namespace {

constexpr int kWriteFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;

}  // namespace

Result<RawSpool> RawSpool::create(const std::string& dir) {
  constexpr std::array kNames = {"inbox", "processing", "outbox", ".tmp"};
  RawSpool raw;
  if (::mkdir(dir.c_str(), 0755) != 0) return os::system_failure("mkdir " + dir);
  for (std::size_t place = 0; place < kPlaces; ++place) {
    const std::string sub = dir + "/" + kNames[place];
    if (::mkdir(sub.c_str(), 0755) != 0) return os::system_failure("mkdir " + sub);
    raw.fds_[place].reset(::open(sub.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!raw.fds_[place].valid()) return os::system_failure("open " + sub);
  }
  return raw;
}

Result<void> RawSpool::write(const std::string& name, const std::string& json) const {
  const int file = ::openat(fd(kTemp), name.c_str(), kWriteFlags, 0644);
  if (file < 0) return os::system_failure("open " + name);
  const ssize_t written = ::write(file, json.data(), json.size());
  ::close(file);
  if (written == static_cast<ssize_t>(json.size())) return {};
  return os::system_failure("write " + name);
}

Result<void> RawSpool::read(Place place, const char* name) {
  const int file = ::openat(fd(place), name, O_RDONLY | O_CLOEXEC);
  if (file < 0) return os::system_failure(std::string("open ") + name);
  const ssize_t got = ::read(file, bytes_.data(), bytes_.size());
  ::close(file);
  return got > 0 ? Result<void>() : os::system_failure(std::string("read ") + name);
}

Result<void> RawSpool::move(Place from, const std::string& old_name, Place to,
                            const std::string& new_name) const {
  if (::renameat(fd(from), old_name.c_str(), fd(to), new_name.c_str()) == 0) return {};
  return os::system_failure("rename " + old_name);
}

Result<void> RawSpool::remove(Place place, const std::string& name) const {
  if (::unlinkat(fd(place), name.c_str(), 0) == 0) return {};
  return os::system_failure("unlink " + name);
}

Result<void> RawSpool::put(const std::string& id, const std::string& json) const {
  const std::string temp = id + ".json.tmp";
  if (auto written = write(temp, json); !written) return written;
  return move(kTemp, temp, kInbox, id + ".json");
}

Result<void> RawSpool::claim(const std::string& id, const std::string& json) {
  const std::string name = id + ".json";
  const std::string temp = id + ".json.tmp";
  if (auto moved = move(kInbox, name, kProcessing, name); !moved) return moved;
  if (auto done = read(kProcessing, name.c_str()); !done) return done;
  if (auto written = write(temp, json); !written) return written;
  if (::renameat2(fd(kTemp), temp.c_str(), fd(kProcessing), name.c_str(), RENAME_EXCHANGE) == 0) {
    return remove(kTemp, temp);
  }
  return move(kTemp, temp, kProcessing, name);
}

Result<void> RawSpool::complete(const std::string& id, const std::string& json) const {
  const std::string temp = id + "_result.json.tmp";
  if (auto written = write(temp, json); !written) return written;
  if (auto moved = move(kTemp, temp, kOutbox, id + "_result.json"); !moved) return moved;
  return remove(kProcessing, id + ".json");
}

Result<void> RawSpool::read_inbox() {
  DIR* const dir = ::fdopendir(::openat(fd(kInbox), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (dir == nullptr) return os::system_failure("opendir inbox");
  Result<void> done;
  while (const dirent* const entry = ::readdir(dir)) {
    if (entry->d_name[0] == '.') continue;
    done = read(kInbox, entry->d_name);
    if (!done) break;
  }
  ::closedir(dir);
  return done;
}

}  // namespace beeline::bench
