#pragma once
// Operators of the random kills: agents that start children, end them and wait for their ends, and
// compare each answer of pid 1 with the ledger.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include <beeline/agent.h>

#include "tests/steward/chaos_ledger.h"

namespace beeline::steward::test {

// The test program with this argument is a child: FLAG KEY CODE MODE.
inline constexpr std::string_view kChildFlag = "--chaos-child";

// A child that runs for this key and exits with this code. Modes: absent (does not attach), brief
// (exits once it has attached), serve (exits when told).
[[nodiscard]] SpawnOptions chaos_child(const std::string& ledger, const std::string& name,
                                       const std::string& key, int code, const std::string& mode);

// Steps that the operators have done: the killer goes on with each.
class Progress {
 public:
  void step() {
    const std::lock_guard lock(mutex_);
    ++steps_;
    changed_.notify_all();
  }
  // False: nothing happened for the patience of a test.
  [[nodiscard]] bool await(std::uint64_t more);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t steps_ = 0;
};

// An agent that starts children, ends them and waits for them. It has some names, and each has one
// child at a time.
class Operator {
 public:
  static constexpr int kNames = 2;

  Operator(std::string name, std::uint64_t seed, ChaosLedger& ledger, Progress& progress);

  [[nodiscard]] Agent& agent() { return *agent_; }
  // Does jobs until `is_over`, or until the test has failed.
  void work(const std::atomic<bool>& is_over);
  // Gives each name a child that has ended by itself.
  void tidy();
  // The ends of children that pid 1 has told unasked are those that it told when asked.
  void check_news();

 private:
  int draw(int most) { return std::uniform_int_distribution(1, most)(random_); }
  std::string next_key() { return name_ + "." + std::to_string(++count_); }
  void do_job();
  std::optional<SpawnedChild> spawn(const std::string& name, const std::string& key, int code,
                                    const std::string& mode);
  // Gives the child one of its own.
  void nest(const SpawnedChild& child, const std::string& child_key, const std::string& name,
            const std::string& key);
  void end(const SpawnedChild& child);
  void wait(const std::string& child, const std::string& key);
  void end_below(const std::string& name, const std::string& key);

  std::string name_;
  std::mt19937 random_;
  ChaosLedger& ledger_;
  Progress& progress_;
  std::optional<Agent> agent_;
  int count_ = 0;
  std::map<Pid, ChildExit> ends_;
};

}  // namespace beeline::steward::test
