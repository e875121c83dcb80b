#include "src/control/state_file.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/os/clock.h"
#include "src/os/error.h"

namespace beeline::control {
namespace {

constexpr Pid kPidBlock = 1024;
constexpr std::uint64_t kMaxEpoch = 1ULL << 62;

std::uint64_t number(const nlohmann::json& object, const char* name, std::uint64_t limit) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_unsigned()) return 0;
  return std::min(found->get<std::uint64_t>(), limit);
}

}  // namespace

Result<StateFile> StateFile::open(std::string path) {
  StateFile state(std::move(path));
  std::uint64_t last_epoch = 0;
  if (std::ifstream file(state.path_); file) {
    std::stringstream text;
    text << file.rdbuf();
    const auto json = nlohmann::json::parse(text.str(), nullptr, /*allow_exceptions=*/false);
    if (json.is_object()) {
      state.first_pid_ =
          std::max(kKingPid + 1, static_cast<Pid>(number(json, "next_pid", shm::kMaxPid + 1ULL)));
      last_epoch = number(json, "epoch", kMaxEpoch);
    }
  }
  state.next_pid_ = state.reserved_ = state.first_pid_;
  state.epoch_ = std::max(last_epoch + 1, static_cast<std::uint64_t>(os::boot_us()));
  if (auto saved = state.save(); !saved) return tl::unexpected(std::move(saved.error()));
  return state;
}

Result<Pid> StateFile::take_pid() {
  if (next_pid_ > shm::kMaxPid) {
    return fail(ErrorCode::kFull,
                fmt::format("all {} pids of the hive are used up: end it and start a new one",
                            shm::kMaxPid));
  }
  if (next_pid_ >= reserved_) {
    const Pid before = reserved_;
    reserved_ = next_pid_ + kPidBlock;
    if (auto saved = save(); !saved) {
      reserved_ = before;
      return tl::unexpected(std::move(saved.error()));
    }
  }
  return next_pid_++;
}

void StateFile::avoid(Pid pid) noexcept { next_pid_ = std::max(next_pid_, pid + 1); }

Result<void> StateFile::save() const {
  const std::string fresh = path_ + ".new";
  {
    std::ofstream file(fresh, std::ios::trunc);
    file << nlohmann::json{{"next_pid", reserved_}, {"epoch", epoch_}}.dump() << '\n';
    file.flush();
    if (!file) return os::system_failure(fmt::format("cannot write {}", fresh));
  }
  if (std::rename(fresh.c_str(), path_.c_str()) != 0) {
    return os::system_failure(fmt::format("cannot replace {}", path_));
  }
  return {};
}

}  // namespace beeline::control
