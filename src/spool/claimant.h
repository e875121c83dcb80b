#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace beeline::spool {

// A pid space: processes with equal hosts have pids that mean the same.
struct Host {
  std::string machine;  // /etc/machine-id; empty if there is none
  std::string boot;     // /proc/sys/kernel/random/boot_id
  std::string pidns;    // inode of the pid namespace
  friend bool operator==(const Host&, const Host&) = default;

  [[nodiscard]] static Host read();
  // Eight hexadecimal digits, for file names. Two hosts may have the same by chance.
  [[nodiscard]] std::string tag() const;
};

enum class Life : std::uint8_t {
  kAlive,
  kGone,
  kUnknown,  // it cannot be looked at from here
};

// A life of a process: its pid and the time of its start.
struct ProcessLife {
  pid_t pid = 0;            // 0 or less: no process
  std::uint64_t start = 0;  // clock ticks since the boot, as in /proc/PID/stat
  friend auto operator<=>(const ProcessLife&, const ProcessLife&) = default;

  // Nothing if there is no such process, or if it has ended and was not reaped.
  [[nodiscard]] static std::optional<ProcessLife> of(pid_t pid);
  // Whether this life goes on. REQUIRES: the pid is one of this pid namespace.
  [[nodiscard]] bool goes_on() const;
};

// The owner of a claim, as the claim's file names it.
struct Claimant {
  Host host;
  ProcessLife process;
  std::string note;
  // The time of the claim by CLOCK_REALTIME, or by the clock of a shared disk. A result with a
  // later time is the claim's. The times of files are exact or some ms early, so an earlier task's
  // result is never taken for one of this claim.
  std::int64_t made_ns = 0;

  // The JSON text of the key "claim" in the metadata of a task.
  [[nodiscard]] std::string json() const;
  [[nodiscard]] static std::optional<Claimant> parse(std::string_view json);
  // `here` is the host of this process.
  [[nodiscard]] Life life(const Host& here) const;
};

}  // namespace beeline::spool
