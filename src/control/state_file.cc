#include "src/control/state_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/os/clock.h"
#include "src/os/error.h"
#include "src/os/fd.h"
#include "src/os/memfd.h"
#include "src/os/uninterrupted.h"

namespace beeline::control {
namespace {

constexpr Pid kPidBlock = 1024;
constexpr std::uint64_t kMaxEpoch = 1ULL << 62;

std::uint64_t number(const nlohmann::json& object, const char* name, std::uint64_t limit) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_unsigned()) return 0;
  return std::min(found->get<std::uint64_t>(), limit);
}

// Nothing where there is no such file. One that is there and cannot be read now is an error:
// whoever began anew would give out pids a second time.
Result<std::optional<std::string>> read_state(const std::string& path) {
  constexpr std::size_t kMostBytes = 4096;
  const os::UniqueFd fd(
      os::uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }));
  if (!fd.valid() && errno == ENOENT) return std::optional<std::string>();
  if (!fd.valid()) return os::system_failure(fmt::format("cannot open {}", path));
  std::string text(kMostBytes, '\0');
  const auto length = os::read_at(fd.get(), 0, std::as_writable_bytes(std::span(text)));
  if (!length) return tl::unexpected(length.error());
  text.resize(*length);
  return std::optional(std::move(text));
}

Result<void> write_state(const std::string& path, std::string_view text) {
  const os::UniqueFd fd(os::uninterrupted(
      [&] { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600); }));
  if (!fd.valid()) return os::system_failure(fmt::format("cannot write {}", path));
  auto written = os::write_at(fd.get(), 0, std::as_bytes(std::span(text)));
  if (!written)
    written.error().text = fmt::format("cannot write {}: {}", path, written.error().text);
  return written;
}

struct Remembered {
  Pid next_pid = 0;
  std::uint64_t epoch = 0;
};

// Nothing where it says nothing that could be ours.
std::optional<Remembered> parse_state(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  const Remembered found{static_cast<Pid>(number(json, "next_pid", shm::kMaxPid + 1ULL)),
                         number(json, "epoch", kMaxEpoch)};
  return found.next_pid == 0 ? std::nullopt : std::optional(found);
}

}  // namespace

Result<StateFile> StateFile::open(std::string path, Pid reserved) {
  StateFile state(std::move(path));
  const auto text = read_state(state.path_);
  if (!text) return tl::unexpected(text.error());
  const auto found = *text ? parse_state(**text) : Remembered();
  if (!found) {
    state.broken_ = bad_path(state.path_);
    if (std::rename(state.path_.c_str(), state.broken_.c_str()) != 0) {
      return os::system_failure(fmt::format("cannot move {} aside", state.path_));
    }
  }
  const auto [next_pid, last_epoch] = found.value_or(Remembered());
  state.first_pid_ = std::max({kKingPid + 1, next_pid, reserved});
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

Result<void> StateFile::save() const {
  const std::string fresh = path_ + ".new";
  const std::string text = nlohmann::json{{"next_pid", reserved_}, {"epoch", epoch_}}.dump() + "\n";
  if (auto written = write_state(fresh, text); !written) return written;
  if (std::rename(fresh.c_str(), path_.c_str()) != 0) {
    return os::system_failure(fmt::format("cannot replace {}", path_));
  }
  return {};
}

}  // namespace beeline::control
