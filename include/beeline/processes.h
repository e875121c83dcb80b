#pragma once

// Processes of a hive: an agent starts children, ends them and waits for their ends. The steward
// does the work: the program `beeline-steward`, which is the agent with pid 1.

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/result.h>
#include <beeline/to.h>
#include <beeline/types.h>

namespace beeline {

class AgentCore;

/// Limits of one child. 0 means none, except where a comment says otherwise.
struct ChildLimits {
  std::uint64_t memory_bytes = 0;   ///< of the child and its descendants where the hive may use
                                    ///< control groups of version 2, else of its address space
  std::uint64_t cpu_seconds = 0;    ///< processor time of its process; then it gets SIGXCPU
  std::uint64_t open_files = 0;     ///< at one time
  std::uint64_t processes = 0;      ///< needs control groups of version 2
  std::uint32_t max_children = 10;  ///< agents that it may have as children; 0: no limit
  std::uint64_t output_bytes = 1 << 20;  ///< of its output that are kept, 4 KiB to 1 GiB
};

struct SpawnOptions {
  std::string name{};                  ///< of the agent; not empty
  std::vector<std::string> command{};  ///< program and arguments; a program without '/' is looked
                                       ///< up in PATH
  std::string parent{};                ///< name or pid; empty: the caller. Another parent must be a
                                       ///< descendant of the caller, unless the caller is a
                                       ///< temporary agent of the hive's user below the coordinator
  std::string role = "worker";         ///< one of kRoles
  std::string tier{};       ///< "strategic", "tactical" or "operational"; empty: by the role
  std::string model{};      ///< for the child's own use; empty: by the tier
  std::string directory{};  ///< in which the child starts; empty: the one of the hive's steward
  std::map<std::string, std::string> environment{};  ///< added to the steward's; an empty text
                                                     ///< removes a variable
  std::optional<std::uint32_t> uid{};                ///< empty: the user of the parent
  std::string restart{};  ///< "always", "on-failure", "notify" or "never"; empty: by the role
  ChildLimits limits{};
  std::chrono::milliseconds ready_within{10'000};  ///< for its attach; then the spawn has failed
  std::chrono::milliseconds grace{5'000};          ///< from the request to end until SIGKILL
  std::string key{};  ///< a second spawn of the same caller with this key gets the first answer
};

struct SpawnedChild {
  Pid pid = 0;
  std::string name{};
  std::int32_t os_pid = 0;  ///< of the process that was started; a wrapper may be it
};

/// The end of a child.
struct ChildExit {
  Pid pid = 0;
  std::int32_t exit_code = -1;  ///< -1: a signal ended it, or nobody knows
  std::int32_t signal = 0;      ///< that ended it; 0: none
  bool known = true;            ///< false: the hive was restarted meanwhile and saw no end
  std::string reason{};         ///< "exited", "killed", "never ready", "hive ended", ...
  std::string output{};         ///< the last lines of its output, at most 4 KiB
};

/// A child as the steward knows it.
struct ChildInfo {
  Pid pid = 0;
  Pid parent = 0;
  std::string name{};
  std::string role{};
  std::string tier{};
  std::string model{};
  std::string state{};    ///< "starting", "running", "sleeping", "restarting" or "ended"
  std::string restart{};  ///< its policy
  std::int32_t os_pid = 0;
  std::uint64_t restarts = 0;
  std::int64_t started_unix_ns = 0;
  std::string log{};               ///< path of the file with its output
  std::optional<ChildExit> end{};  ///< of its last life
};

/// A signal for a child.
enum class Signal : std::uint8_t {
  kTerminate = 0,  ///< SIGTERM
  kKill = 1,       ///< SIGKILL
  kStop = 2,       ///< SIGSTOP: sleep() is the same
  kContinue = 3,   ///< SIGCONT
  kHangUp = 4,     ///< SIGHUP
  kInterrupt = 5,  ///< SIGINT
  kUser1 = 6,      ///< SIGUSR1
  kUser2 = 7,      ///< SIGUSR2
};
/// Their names without "SIG", by number.
inline constexpr std::array<std::string_view, 8> kSignalNames = {"TERM", "KILL", "STOP", "CONT",
                                                                 "HUP",  "INT",  "USR1", "USR2"};

/// Calls of an Agent about processes: see Agent::processes(). Each is a request to pid 1 over
/// shared memory. Belongs to the thread of its Agent and must not outlive it. Cheap to copy.
///
/// Errors of all: those of Agent::request(); kNoAgent (no such agent), kDenied (the rule), kInvalid
/// (an option and its limits), kFull, kTimeout, kSystem. The text has the words of the steward.
class Processes {
 public:
  /// Starts a child and returns once it has attached, or says why it has not: the text then has the
  /// last lines of its output.
  [[nodiscard]] Result<SpawnedChild> spawn(const SpawnOptions& options);
  /// Ends a child of the caller and all its descendants, the lowest first, and returns the pids
  /// that were ended. Without `recursive` only a child without living children is ended.
  [[nodiscard]] Result<std::vector<Pid>> kill(const To& child, bool recursive = true);
  /// Waits for the end of a child. Its status can be fetched until the steward forgets it: it keeps
  /// the newest 1,024 ends, for a day. Errors: kTimeout.
  [[nodiscard]] Result<ChildExit> wait(const To& child,
                                       std::chrono::milliseconds timeout = std::chrono::minutes(1));
  /// The children that the steward has started for the caller, or below it.
  [[nodiscard]] Result<std::vector<ChildInfo>> list(bool recursive = false);
  /// Sends a signal to the process of a child of the caller, and to those that it has started
  /// itself; agents below it get none. Returns the state of the child afterwards, as in ChildInfo;
  /// after kKill once the process has ended. A sleeping child takes other signals when it is woken.
  /// If the steward is killed meanwhile the signal may be sent twice. Errors: kPeerDead (the child
  /// has ended: no signal brings it back).
  [[nodiscard]] Result<std::string> signal(const To& child, Signal signal);
  /// Stops the process of a child: it does nothing and answers nothing, its messages wait. Does
  /// nothing if it sleeps. Returns "sleeping". Errors: kPeerDead (it has ended).
  [[nodiscard]] Result<std::string> sleep(const To& child);
  /// Lets a sleeping child run on. Returns its state afterwards. Errors: kPeerDead (it has ended),
  /// kInvalid (it does not sleep).
  [[nodiscard]] Result<std::string> wake(const To& child);

 private:
  friend class Agent;
  explicit Processes(AgentCore* core) : core_(core) {}
  AgentCore* core_;
};

}  // namespace beeline
