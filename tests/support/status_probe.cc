#include "tests/support/status_probe.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "src/os/fd.h"

namespace beeline::test {

namespace fs = std::filesystem;

StatusProbe::StatusProbe(const std::string& hive, pid_t process, Pid pid) {
  const std::string prefix = "/memfd:beeline-" + hive + "-status-" + std::to_string(pid) + "-";
  std::error_code error;
  for (const auto& entry :
       fs::directory_iterator("/proc/" + std::to_string(process) + "/fd", error)) {
    const std::string target = fs::read_symlink(entry.path(), error).string();
    if (error || !target.starts_with(prefix)) continue;
    const os::UniqueFd fd(::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC));
    void* at = ::mmap(nullptr, shm::kStatusBytes, PROT_READ, MAP_SHARED, fd.get(), 0);
    if (at == MAP_FAILED) continue;
    page_ = static_cast<const shm::StatusPage*>(at);
    return;
  }
  ADD_FAILURE() << "no status page of agent " << pid << " in process " << process;
  static const shm::StatusPage kNoPage{};
  page_ = &kNoPage;
}

StatusProbe::~StatusProbe() {
  // The page that stands for a missing one is not a mapping: unmapping it fails and harms nothing.
  if (page_->header.ready.relaxed_load() != 0) {
    ::munmap(const_cast<shm::StatusPage*>(page_), shm::kStatusBytes);
  }
}

shm::Sleep StatusProbe::sleep() const { return shm::how_asleep(page_->sleep.observe()); }

bool StatusProbe::await_long_sleep(shm::Sleep how, Deadline deadline) const {
  constexpr auto kLong = std::chrono::milliseconds(250);
  auto now = std::chrono::steady_clock::now();
  auto since = now;
  for (std::uint64_t count = sleeps(); now < deadline; now = std::chrono::steady_clock::now()) {
    if (sleep() == how && sleeps() == count) {
      if (now - since > kLong) return true;
    } else {
      since = now;
      count = sleeps();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

}  // namespace beeline::test
