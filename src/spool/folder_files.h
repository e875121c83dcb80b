#pragma once

// The files of a task folder: all system calls that write, read or move one.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/spool.h>

#include "src/os/fd.h"

namespace beeline::spool {

// The five sub-folders. The first four have the values of Folder.
enum class Place : std::uint8_t { kInbox, kProcessing, kOutbox, kFailed, kTemp };
inline constexpr std::size_t kPlaces = 5;

[[nodiscard]] constexpr Place place_of(Folder folder) { return static_cast<Place>(folder); }
[[nodiscard]] std::string_view to_string(Place place);

// A file as the kernel describes it.
struct FileFacts {
  std::uint64_t inode = 0;
  std::int64_t modified_ns = 0;  // CLOCK_REALTIME
  std::int64_t changed_ns = 0;   // likewise; a rename changes it too, on most file systems
  std::int64_t bytes = 0;
  bool is_regular = false;
};

// A file and its bytes.
struct FileBytes {
  FileFacts facts;
  std::string bytes;
};

// The end of a move to a name that must be free.
enum class Moved : std::uint8_t {
  kMoved,
  kGone,   // there is no such file any more
  kTaken,  // the new name is in use
};

// A name in one of the sub-folders.
struct FileName {
  Place place;
  std::string_view name;
};

// Knows the folder by descriptors, so a rename of a folder above it changes nothing. Errors of all
// calls: kMailboxDir, with the call, the path and errno.
class FolderFiles {
 public:
  // Makes what is missing (0755), unless the caller only reads.
  enum class Use : std::uint8_t { kWork, kRead };
  [[nodiscard]] static Outcome<FolderFiles> open(const std::string& dir, Sync sync,
                                                 Use use = Use::kWork);

  // Other hosts use the folder.
  void set_shared() { is_shared_ = true; }

  [[nodiscard]] const std::string& dir() const { return dir_; }
  [[nodiscard]] int fd(Place place) const { return fds_[static_cast<std::size_t>(place)].get(); }
  [[nodiscard]] std::string path(const FileName& file) const;
  // Fails if the sub-folder was removed while we have it open.
  [[nodiscard]] Outcome<void> check_is_there(Place place) const;

  // A new file in .tmp/.
  struct Temp {
    std::string name;
    os::UniqueFd file;
  };
  // Makes an empty one of exactly this name.
  [[nodiscard]] Outcome<Temp> make_temp(std::string name) const;
  // Writes and closes it, and returns its facts. With Sync::kData or kFull its content is on the
  // disk when the call returns. After an error there is no file.
  [[nodiscard]] Outcome<FileFacts> fill_temp(Temp& temp, std::string_view bytes);
  // The time of a file. The kernel's is some ms early.
  enum class Time : std::uint8_t { kOfKernel, kExact };
  // Makes one, named after `final_name`, writes it and closes it. Otherwise as fill_temp().
  [[nodiscard]] Outcome<Temp> write_temp(std::string_view final_name, std::string_view bytes,
                                         Time time = Time::kOfKernel);
  void drop_temp(const Temp& temp);

  // Moves a file; a file of the new name stays, and the result is kTaken then.
  [[nodiscard]] Outcome<Moved> move_new(const FileName& from, const FileName& to);
  // Moves a file; a file of the new name is replaced. False: there is no such file.
  [[nodiscard]] Outcome<bool> move_over(const FileName& from, const FileName& to);
  // Gives a written temp the name of a file that is there, and removes that one. A rename over a
  // file would do, but some disks then wait for the content.
  [[nodiscard]] Outcome<void> replace(const Temp& temp, const FileName& file);
  // False: there is no such file.
  [[nodiscard]] Outcome<bool> remove(const FileName& file);
  // With Sync::kFull: waits until the names of a sub-folder are on the disk.
  [[nodiscard]] Outcome<void> sync_names(Place place);

  // Nothing: there is no such file. Does not follow a link.
  [[nodiscard]] std::optional<FileFacts> facts(const FileName& file) const;
  // Nothing: there is no such file. `bytes` is empty if it is no regular file, or too large.
  [[nodiscard]] Outcome<std::optional<FileBytes>> read(const FileName& file) const;
  // The bytes of a file that was regular a moment ago, with a system call less. Nothing: there is
  // no such file, or read() must look at it.
  [[nodiscard]] std::optional<std::string> read_again(const FileName& file);
  // True while a process has the file open for writing, as far as the kernel tells.
  [[nodiscard]] bool is_being_written(const FileName& file) const;
  // Sets the times of a file to now. False: there is no such file.
  [[nodiscard]] Outcome<bool> touch(const FileName& file);
  // All names but "." and "..". Needs a descriptor for the moment.
  [[nodiscard]] Outcome<std::vector<std::string>> names(Place place) const;

 private:
  FolderFiles(std::string dir, Sync sync) : dir_(std::move(dir)), sync_(sync) {}
  [[nodiscard]] tl::unexpected<Failure> failed(std::string_view call, const FileName& file) const;
  [[nodiscard]] Outcome<void> set_time(int fd, const FileName& file) const;
  [[nodiscard]] Outcome<void> write_all(int fd, std::string_view bytes, const FileName& file) const;

  std::string dir_;
  Sync sync_;
  std::array<os::UniqueFd, kPlaces> fds_;
  bool has_noreplace_ = true;  // of this file system, until it says otherwise
  bool exchanges_ = true;      // likewise; not in memory, where nothing waits for a disk
  bool is_shared_ = false;     // its disk has a clock of its own
  std::uint64_t temps_ = 0;
  std::string buffer_;  // of read_again()
};

}  // namespace beeline::spool
