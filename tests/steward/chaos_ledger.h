#pragma once
// The ledger of the observer of the random kills. Each child of the test notes its own start and
// its own planned exit code in a file, so the observer needs no word of the steward to know the
// truth.

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <beeline/processes.h>

namespace beeline::steward::test {

// The variable with the path of the file.
inline constexpr char kChaosVariable[] = "CHAOS_LEDGER";

// A child in the process that it is. Signals may come at any time; async-signal-safe where it ends.
class ChaosNote {
 public:
  // Notes the start of this process for this key.
  ChaosNote(const std::string& key, int code);
  // Notes that the process exits with this code, and exits.
  [[noreturn]] static void leave(int code);
};

// All functions may be called from any thread.
class ChaosLedger {
 public:
  ChaosLedger();
  ~ChaosLedger();
  ChaosLedger(const ChaosLedger&) = delete;
  ChaosLedger& operator=(const ChaosLedger&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  // The number of processes that have run for a key.
  [[nodiscard]] std::size_t count_runs(const std::string& key);
  // Kills a running child at random; false if there is none.
  bool kill_one(std::mt19937& random);
  // Ends that the steward has told: the observer need not look at this child any more.
  void close(const std::string& key);
  // Says why this end of a child cannot be true; empty if it is.
  [[nodiscard]] std::string find_lie(const std::string& key, const ChildExit& end);
  // True if the observer has killed a process of this key.
  [[nodiscard]] bool was_killed(const std::string& key);
  // The keys for which more than one process has run.
  [[nodiscard]] std::vector<std::string> repeated();

 private:
  struct Run {
    pid_t pid = 0;
    std::uint64_t start_ticks = 0;
    bool is_killed = false;
    int code = -1;  // -1: it has not noted that it exits
  };
  void read_on();
  [[nodiscard]] bool kill_run(Run& run);

  std::mutex mutex_;
  std::string path_;
  int fd_ = -1;
  std::string rest_;  // the begin of a line
  std::map<std::string, std::vector<Run>> runs_;
  std::set<std::string> open_;  // keys whose child may run
};

}  // namespace beeline::steward::test
