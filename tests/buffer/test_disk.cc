#include "tests/buffer/test_disk.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>

namespace beeline::buffer {
namespace {

struct Handle {
  sqlite3_file base;
  TestDisk* disk;
  TestDisk::File* file;
};

constexpr std::size_t kSectorBytes = 512;

void replay(const TestDisk::Write& write, std::string& to) {
  if (write.is_truncation) {
    to.resize(std::min<std::size_t>(to.size(), write.at));
    return;
  }
  if (to.size() < write.at + write.bytes.size()) to.resize(write.at + write.bytes.size());
  to.replace(write.at, write.bytes.size(), write.bytes);
}

TestDisk::File& file_of(sqlite3_file* file) { return *reinterpret_cast<Handle*>(file)->file; }
TestDisk& disk_of(sqlite3_file* file) { return *reinterpret_cast<Handle*>(file)->disk; }

}  // namespace

// The calls of the VFS, with the state of the disk.
struct TestDiskCalls {
  static TestDisk& disk(sqlite3_vfs* vfs) { return *static_cast<TestDisk*>(vfs->pAppData); }

  static int read(sqlite3_file* file, void* to, int count, sqlite3_int64 at) {
    if (!disk_of(file).has_power_) return SQLITE_IOERR_READ;
    const std::string& bytes = file_of(file).current;
    const auto begin = std::min<std::size_t>(static_cast<std::size_t>(at), bytes.size());
    const auto length =
        std::min<std::size_t>(static_cast<std::size_t>(count), bytes.size() - begin);
    std::memcpy(to, bytes.data() + begin, length);
    std::memset(static_cast<char*>(to) + length, 0, static_cast<std::size_t>(count) - length);
    return length == static_cast<std::size_t>(count) ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
  }
  static int write(sqlite3_file* file, const void* from, int count, sqlite3_int64 at) {
    TestDisk& disk = disk_of(file);
    if (!disk.has_power_) return SQLITE_IOERR_WRITE;
    TestDisk::File& to = file_of(file);
    const auto end = static_cast<std::size_t>(at + count);
    if (disk.is_full_ && end > to.current.size()) return SQLITE_FULL;
    to.unsynced.push_back({static_cast<std::uint64_t>(at),
                           {static_cast<const char*>(from), static_cast<std::size_t>(count)}});
    replay(to.unsynced.back(), to.current);
    return SQLITE_OK;
  }
  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    if (!disk_of(file).has_power_) return SQLITE_IOERR_TRUNCATE;
    TestDisk::File& to = file_of(file);
    to.unsynced.push_back({static_cast<std::uint64_t>(size), {}, true});
    replay(to.unsynced.back(), to.current);
    return SQLITE_OK;
  }
  static int sync(sqlite3_file* file, int /*flags*/) {
    TestDisk& disk = disk_of(file);
    if (disk.has_power_ && ++disk.syncs_ == disk.last_sync_) disk.has_power_ = false;
    if (!disk.has_power_) return SQLITE_IOERR_FSYNC;
    TestDisk::File& synced = file_of(file);
    for (const TestDisk::Write& write : synced.unsynced) replay(write, synced.durable);
    synced.unsynced.clear();
    synced.is_named_durably = true;
    return SQLITE_OK;
  }
  static int size(sqlite3_file* file, sqlite3_int64* size) {
    *size = static_cast<sqlite3_int64>(file_of(file).current.size());
    return SQLITE_OK;
  }
  static int close(sqlite3_file* /*file*/) { return SQLITE_OK; }
  static int lock(sqlite3_file* /*file*/, int /*level*/) { return SQLITE_OK; }
  static int is_reserved(sqlite3_file* /*file*/, int* out) { return *out = 0, SQLITE_OK; }
  static int control(sqlite3_file* /*file*/, int /*what*/, void* /*with*/) {
    return SQLITE_NOTFOUND;
  }
  static int sector_size(sqlite3_file* /*file*/) { return kSectorBytes; }
  static int characteristics(sqlite3_file* /*file*/) { return 0; }
  static int shm_map(sqlite3_file* file, int region, int bytes, int /*extend*/,
                     void volatile** out) {
    auto& memory = file_of(file).shared_memory[region];
    if (!memory) memory = std::make_unique<char[]>(static_cast<std::size_t>(bytes));
    *out = memory.get();
    return SQLITE_OK;
  }
  static int shm_lock(sqlite3_file* /*file*/, int /*at*/, int /*count*/, int /*flags*/) {
    return SQLITE_OK;
  }
  static void shm_barrier(sqlite3_file* /*file*/) {}
  static int shm_unmap(sqlite3_file* file, int /*is_last*/) {
    return file_of(file).shared_memory.clear(), SQLITE_OK;
  }

  static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out) {
    static const sqlite3_io_methods kCalls = {2,
                                              close,
                                              read,
                                              write,
                                              truncate,
                                              sync,
                                              size,
                                              lock,
                                              lock,
                                              is_reserved,
                                              control,
                                              sector_size,
                                              characteristics,
                                              shm_map,
                                              shm_lock,
                                              shm_barrier,
                                              shm_unmap,
                                              nullptr,
                                              nullptr};
    file->pMethods = nullptr;
    TestDisk& on = disk(vfs);
    if (!on.has_power_) return SQLITE_CANTOPEN;
    auto& slot = on.files_[name == nullptr ? "temporary" : name];
    if (!slot && (flags & SQLITE_OPEN_CREATE) == 0) return SQLITE_CANTOPEN;
    if (!slot) slot = std::make_unique<TestDisk::File>();
    auto* handle = reinterpret_cast<Handle*>(file);
    *handle = {{&kCalls}, &on, slot.get()};
    if (on.is_read_only_) flags = (flags & ~SQLITE_OPEN_READWRITE) | SQLITE_OPEN_READONLY;
    if (out != nullptr) *out = flags;
    return SQLITE_OK;
  }
  static int remove(sqlite3_vfs* vfs, const char* name, int /*sync*/) {
    if (!disk(vfs).has_power_) return SQLITE_IOERR_DELETE;
    return disk(vfs).files_.erase(name) != 0 ? SQLITE_OK : SQLITE_IOERR_DELETE_NOENT;
  }
  static int access(sqlite3_vfs* vfs, const char* name, int /*flags*/, int* out) {
    const auto found = disk(vfs).files_.find(name);
    *out = found != disk(vfs).files_.end() && !found->second->current.empty() ? 1 : 0;
    return SQLITE_OK;
  }
  static int full_name(sqlite3_vfs* /*vfs*/, const char* name, int bytes, char* out) {
    return sqlite3_snprintf(bytes, out, "%s", name), SQLITE_OK;
  }
};

TestDisk::TestDisk(std::string name) : name_(std::move(name)) {
  vfs_ = *sqlite3_vfs_find(nullptr);  // its clock and its random numbers
  vfs_.szOsFile = sizeof(Handle);
  vfs_.pNext = nullptr;
  vfs_.zName = name_.c_str();
  vfs_.pAppData = this;
  vfs_.xOpen = TestDiskCalls::open;
  vfs_.xDelete = TestDiskCalls::remove;
  vfs_.xAccess = TestDiskCalls::access;
  vfs_.xFullPathname = TestDiskCalls::full_name;
  sqlite3_vfs_register(&vfs_, 0);
}

TestDisk::~TestDisk() { sqlite3_vfs_unregister(&vfs_); }

void TestDisk::restore_power(std::uint32_t seed) {
  std::mt19937 random(seed);
  std::erase_if(files_, [](const auto& file) { return !file.second->is_named_durably; });
  for (auto& [name, file] : files_) {
    for (Write& write : file->unsynced) {
      const auto chance = seed == 0 ? 0 : random() % 3;
      if (chance == 0) continue;
      if (chance == 1)
        write.bytes.resize(random() % (write.bytes.size() / kSectorBytes + 1) * kSectorBytes);
      replay(write, file->durable);
    }
    file->unsynced.clear();
    file->current = file->durable;
    file->shared_memory.clear();
  }
  has_power_ = true;
  last_sync_ = 0;
}

}  // namespace beeline::buffer
