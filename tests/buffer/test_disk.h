#pragma once

// A disk in memory as a VFS of SQLite: it can lose its power at a sync, fill up, or become
// read-only. One connection at a time.

#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace beeline::buffer {

class TestDisk {
 public:
  struct Write {
    std::uint64_t at = 0;
    std::string bytes{};
    bool is_truncation = false;  // to `at`
  };
  struct File {
    std::string current{};          // as programs see it
    std::string durable{};          // as it is after a loss of power
    std::vector<Write> unsynced{};  // the difference
    bool is_named_durably = false;
    std::map<int, std::unique_ptr<char[]>> shared_memory{};
  };

  explicit TestDisk(std::string name);
  ~TestDisk();
  TestDisk(const TestDisk&) = delete;
  TestDisk& operator=(const TestDisk&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  // The power goes off at the sync of this number, counted from 1: that sync and all later calls
  // fail. 0: never.
  void lose_power_at(std::uint64_t sync) { last_sync_ = sync; }
  [[nodiscard]] bool has_power() const { return has_power_; }
  // The power comes back. Writes that were not synced are lost; with a seed each of them is lost,
  // written or torn by chance.
  void restore_power(std::uint32_t seed);
  // Files do not grow.
  void set_full(bool is_full) { is_full_ = is_full; }
  // The next open() finds a disk that can only be read.
  void set_read_only(bool is_read_only) { is_read_only_ = is_read_only; }

 private:
  friend struct TestDiskCalls;

  std::string name_;
  sqlite3_vfs vfs_{};
  std::map<std::string, std::unique_ptr<File>> files_;
  std::uint64_t syncs_ = 0;
  std::uint64_t last_sync_ = 0;
  bool has_power_ = true;
  bool is_full_ = false;
  bool is_read_only_ = false;
};

}  // namespace beeline::buffer
