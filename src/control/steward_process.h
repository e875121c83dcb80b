#pragma once

// The keeper's side of the steward: starts its program when somebody calls pid 1, and again when it
// dies; holds the children that it has started, so that no end of theirs is lost while there is no
// steward.

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/control/log.h"
#include "src/os/fd.h"
#include "src/os/packet_socket.h"

namespace beeline::control {

// Packets between the two, one line each. The steward says: child PID (with its pidfd), gone PID,
// ready (it serves).
// The keeper says: child PID (with its pidfd) or exited PID STATUS for each child that it holds,
// then known; later exited PID STATUS for children that it had to adopt. STATUS as of waitpid(2).
inline constexpr std::string_view kChildWord = "child ";
inline constexpr std::string_view kGoneWord = "gone ";
inline constexpr std::string_view kExitedWord = "exited ";
inline constexpr std::string_view kKnownWord = "known";

// Variables of the steward's environment.
inline constexpr char kKingVariable[] = "BEELINE_KING";           // the secret
inline constexpr char kKeeperFdVariable[] = "BEELINE_KEEPER_FD";  // the socket to the keeper
inline constexpr char kStewardLogVariable[] = "BEELINE_LOG_FD";   // the log of the hive
inline constexpr char kStewardProgram[] = "beeline-steward";

class StewardProcess {
 public:
  struct Setting {
    std::string program;  // empty: there is none
    std::string hive;
    std::string folder;  // of its files; goes with the hive
    std::string secret;
    int log_fd = 2;
  };
  StewardProcess() noexcept = default;
  explicit StewardProcess(Setting setting) : setting_(std::move(setting)) {}

  // Somebody needs it: starts it unless it runs, or ended a moment ago.
  void call(Log& log);
  // Hears it, and starts it again if that is due. Call it when fd() is readable, and at next_ns().
  void turn(Log& log);
  // A process that the keeper had adopted has ended.
  void ended(pid_t pid, int status, Log& log);
  // In a fork of the keeper: closes what is the keeper's.
  void forget();
  // The hive ends: no steward is started any more. Waits for the one that runs for `patience`, then
  // kills it and all children that are left, and removes its files.
  void end(std::int64_t patience_ns);

  [[nodiscard]] bool is_running() const noexcept { return pid_ != 0; }
  [[nodiscard]] int fd() const noexcept { return socket_.fd(); }
  // When turn() wants to be called, CLOCK_MONOTONIC; 0: not for the time alone.
  [[nodiscard]] std::int64_t next_ns() const noexcept { return start_at_ns_; }

 private:
  struct Child {
    os::UniqueFd pidfd;
    std::optional<int> status;  // it has ended, and the steward has not taken note
  };

  void start(Log& log);
  void tell_children();
  void hear(Log& log);
  void obey(std::string_view text, std::vector<os::UniqueFd> fds);
  void note_end(int status, Log& log);

  Setting setting_;
  pid_t pid_ = 0;
  os::UniqueFd pidfd_;
  os::PacketSocket socket_;
  std::map<pid_t, Child> children_;
  std::int64_t started_ns_ = 0;
  std::int64_t start_at_ns_ = 0;  // when it is to be started again
  std::uint32_t quick_ends_ = 0;  // lives in a row that ended soon and in which it did nothing
};

}  // namespace beeline::control
