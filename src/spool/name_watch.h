#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <beeline/spool.h>

#include "src/os/fd.h"
#include "src/spool/folder_files.h"

namespace beeline::spool {

// Learns by name which files of the sub-folders come and go (inotify).
class NameWatch {
 public:
  enum class Kind : std::uint8_t {
    kCame,     // moved there, or a writer closed it
    kCreated,  // made there; it may still be written
    kWent,
    kLost,  // the kernel dropped events: look at everything
  };
  struct Event {
    Place place = Place::kInbox;
    Kind kind = Kind::kLost;
    std::string name{};
  };

  NameWatch() noexcept;
  enum class Wanted : std::uint8_t { kAll, kMovesTo };
  // False if the kernel has no watch for us now. Watching a folder twice changes nothing.
  bool add(const FolderFiles& files, Place place, Wanted wanted = Wanted::kAll) noexcept;
  void remove(Place place) noexcept;
  // -1: the kernel has none for us now.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  // All events since the last call, in order. Does not block.
  [[nodiscard]] std::vector<Event> take();

 private:
  os::UniqueFd fd_;
  std::array<int, kPlaces> watches_{-1, -1, -1, -1, -1};
};

}  // namespace beeline::spool
