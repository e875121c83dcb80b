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

// Nothing if there is no such file. A file that cannot be read now is an error: beginning anew
// would give out pids a second time.
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

// Nothing if the text cannot be ours.
std::optional<Remembered> parse_state(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  const Remembered found{static_cast<Pid>(number(json, "next_pid", shm::kMaxPid + 1ULL)),
                         number(json, "epoch", kMaxEpoch)};
  return found.next_pid == 0 ? std::nullopt : std::optional(found);
}

}  // namespace

Result<StateFile> StateFile::open(std::string path, Pid reserved, bool optional) {
  StateFile state(std::move(path));
  state.optional_ = optional;
  state.first_pid_ = std::max(kKingPid + 1, reserved);
  if (auto loaded = state.load(); !loaded && !optional) {
    return tl::unexpected(std::move(loaded.error()));
  }
  state.next_pid_ = state.reserved_ = state.first_pid_;
  state.epoch_ = std::max(state.epoch_ + 1, static_cast<std::uint64_t>(os::boot_us()));
  if (auto saved = state.renew(); !saved) return tl::unexpected(std::move(saved.error()));
  return state;
}

Result<void> StateFile::load() {
  const auto text = read_state(path_);
  if (!text) return tl::unexpected(text.error());
  const auto found = *text ? parse_state(**text) : Remembered();
  if (!found) {
    if (std::rename(path_.c_str(), bad_path(path_).c_str()) != 0) {
      return os::system_failure(fmt::format("cannot move {} aside", path_));
    }
    broken_ = bad_path(path_);
  }
  const auto [next_pid, last_epoch] = found.value_or(Remembered());
  first_pid_ = std::max(first_pid_, next_pid);
  epoch_ = last_epoch;
  return {};
}

Result<Pid> StateFile::take_pid() {
  if (next_pid_ > shm::kMaxPid) {
    return fail(
        ErrorCode::kFull,
        fmt::format("all {} numbers of agents of the hive are used up: names that are known "
                    "may still attach; end the hive and start a new one",
                    shm::kMaxPid));
  }
  if (next_pid_ >= reserved_) {
    const Pid before = reserved_;
    reserved_ = next_pid_ + kPidBlock;
    if (auto saved = renew(); !saved) {
      reserved_ = before;
      return tl::unexpected(std::move(saved.error()));
    }
  } else if (unsaved_) {
    (void)renew();
  }
  return next_pid_++;
}

Result<void> StateFile::save() const {
  const std::string fresh = path_ + ".new";
  const std::string text = nlohmann::json{{"next_pid", reserved_}, {"epoch", epoch_}}.dump() + "\n";
  auto saved = write_state(fresh, text);
  if (saved && std::rename(fresh.c_str(), path_.c_str()) != 0) {
    saved = os::system_failure(fmt::format("cannot replace {}", path_));
  }
  if (!saved) (void)::unlink(fresh.c_str());  // half a file is useless and takes room
  return saved;
}

Result<void> StateFile::renew() {
  unsaved_.reset();
  auto saved = save();
  if (saved || !optional_) return saved;
  unsaved_ = std::move(saved.error());
  return {};
}

void StateFile::report(Log& log) {
  const std::string text = unsaved_ ? unsaved_->text : std::string();
  if (text == reported_) return;
  if (text.empty()) {
    log.info("state_saved", "file={}", in_quotes(path_));
  } else {
    log.warn("state_unsaved",
             "text=\"the hive goes on: its keeper knows which pids are in use; should keeper and "
             "coordinator be killed together, agents may be unable to come back\" reason={}",
             in_quotes(text));
  }
  reported_ = text;
}

}  // namespace beeline::control
