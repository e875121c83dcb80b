#include "bench/log_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "src/os/error.h"
#include "src/os/fd.h"

namespace beeline::bench {
namespace {

constexpr std::uint64_t kLogBytes = kWalFrames * kWalFrameBytes;

class LogSender final : public StoreSender {
 public:
  LogSender(os::UniqueFd file, std::uint64_t bytes)
      : file_(std::move(file)), bytes_(static_cast<std::size_t>(bytes), 'x') {}

  Result<void> put(const std::string& payload) override {
    if (at_ + bytes_.size() > kLogBytes) at_ = 0;
    bytes_.replace(0, std::min(payload.size(), bytes_.size()), payload);
    const auto written =
        ::pwrite(file_.get(), bytes_.data(), bytes_.size(), static_cast<off_t>(at_));
    if (written != static_cast<ssize_t>(bytes_.size())) return os::system_failure("write the log");
    at_ += bytes_.size();
    if (::fdatasync(file_.get()) != 0) return os::system_failure("fdatasync the log");
    return {};
  }

 private:
  os::UniqueFd file_;
  std::string bytes_;
  std::uint64_t at_ = 0;
};

class LogStore final : public Store {
 public:
  LogStore(const std::string& folder, std::uint64_t bytes)
      : Store({"write and fdatasync", kSyncedBefore, "", ""}), folder_(folder), bytes_(bytes) {}

  Result<std::unique_ptr<StoreSender>> connect(std::size_t number) const override {
    const std::string path = fmt::format("{}/log-{}", folder_, number);
    os::UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    if (!file.valid()) return os::system_failure("open " + path);
    const std::string blank(kLogBytes, 'x');
    if (::pwrite(file.get(), blank.data(), blank.size(), 0) != static_cast<ssize_t>(kLogBytes) ||
        ::fsync(file.get()) != 0) {
      return os::system_failure("write " + path);
    }
    return std::make_unique<LogSender>(std::move(file), bytes_);
  }

 private:
  std::string folder_;
  std::uint64_t bytes_;
};

}  // namespace

Result<std::unique_ptr<Store>> start_log_store(const std::string& folder, std::uint64_t bytes) {
  return std::make_unique<LogStore>(folder, bytes);
}

}  // namespace beeline::bench
