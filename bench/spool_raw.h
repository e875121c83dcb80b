#pragma once

#include <array>
#include <cstddef>
#include <string>

#include <beeline/result.h>

#include "src/os/fd.h"

namespace beeline::bench {

// A task folder without a library: each step makes the system calls that it needs, and no others.
// Errors of all calls: kSystem.
class RawSpool {
 public:
  // Makes the folder, which must not be there, and its sub-folders.
  [[nodiscard]] static Result<RawSpool> create(const std::string& dir);

  // open, write, close, rename.
  [[nodiscard]] Result<void> put(const std::string& id, const std::string& json) const;
  // rename; open, read, close; open, write, close; rename, unlink. `json`: the task with its claim.
  // The last rename exchanges the two files where the file system can: a disk starts to write a
  // file at once that replaces another one, and its removal has to wait for that.
  [[nodiscard]] Result<void> claim(const std::string& id, const std::string& json);
  // open, write, close, rename; unlink. `json`: the result.
  [[nodiscard]] Result<void> complete(const std::string& id, const std::string& json) const;
  // Opens, reads and closes each file in inbox/.
  [[nodiscard]] Result<void> read_inbox();

 private:
  enum Place : std::size_t { kInbox, kProcessing, kOutbox, kTemp, kPlaces };
  [[nodiscard]] int fd(Place place) const { return fds_[place].get(); }
  [[nodiscard]] Result<void> write(const std::string& name, const std::string& json) const;
  [[nodiscard]] Result<void> read(Place place, const char* name);
  [[nodiscard]] Result<void> remove(Place place, const std::string& name) const;
  [[nodiscard]] Result<void> move(Place from, const std::string& old_name, Place to,
                                  const std::string& new_name) const;

  std::array<os::UniqueFd, kPlaces> fds_;
  std::string bytes_ = std::string(std::size_t{64} << 10, '\0');
};

}  // namespace beeline::bench
