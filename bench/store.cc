#include "bench/store.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

#include "src/os/error.h"
#include "src/os/fd.h"

namespace beeline::bench {

std::string store_payload(std::uint64_t number) {
  std::string json = fmt::format(R"({{"event":"message.created","number":{:012},"text":")", number);
  json.resize(kStorePayloadBytes - 2, 'x');
  return json + "\"}";
}

namespace {

// The number of the last frame in a write-ahead log. SQLite keeps it at this place of the file
// beside the log.
Result<std::uint32_t> last_frame(const std::string& database) {
  constexpr off_t kPlace = 16;
  const std::string path = database + "-shm";
  const os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::uint32_t frame = 0;
  if (!file.valid() || ::pread(file.get(), &frame, sizeof frame, kPlace) != sizeof frame) {
    return os::system_failure("read " + path);
  }
  return frame;
}

}  // namespace

Result<std::uint64_t> wal_bytes(const Store& store, StoreSender& sender) {
  const std::string& database = store.words().database;
  if (database.empty()) return std::uint64_t{0};
  std::array<std::uint32_t, 16> frames{};
  for (std::uint32_t& frame : frames) {
    if (auto done = sender.put(store_payload(0)); !done) return tl::unexpected(done.error());
    const auto last = last_frame(database);
    if (!last) return tl::unexpected(last.error());
    frame = *last;
  }
  // The log begins again after a checkpoint.
  std::adjacent_difference(frames.begin(), frames.end(), frames.begin(),
                           [](auto now, auto before) { return now < before ? now : now - before; });
  std::sort(frames.begin() + 1, frames.end());
  return frames[frames.size() / 2] * kWalFrameBytes;
}

}  // namespace beeline::bench
