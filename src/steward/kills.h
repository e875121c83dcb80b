#pragma once

// Ends whole branches of the tree, the lowest level first.

#include <cstdint>
#include <functional>
#include <list>
#include <set>
#include <string>
#include <vector>

#include "src/steward/child.h"
#include "src/steward/family.h"
#include "src/steward/letters.h"
#include "src/steward/nursery.h"
#include "src/steward/roster.h"

namespace beeline::steward {

class Kills {
 public:
  struct Parts {
    Family& family;
    Roster& roster;
    Nursery& nursery;
    Letters& letters;
  };
  // Gets the pids that were ended, in the order of their ends: descendants before their ancestors.
  using Done = std::function<void(const std::vector<Pid>&)>;

  explicit Kills(const Parts& parts) : parts_(parts) {}

  // Ends everything below `top`, and `top` itself unless it is pid 1. Agents that attached by
  // themselves get the message `shutdown`, and are not waited for.
  void start(Pid top, const std::string& reason, Done done);
  // This child has ended, or never began.
  void hear_end(std::int64_t child);
  // Gives no child any more time.
  void hurry();

 private:
  struct Job {
    std::string reason;
    Done done;
    bool is_of_hive = false;
    std::vector<std::vector<Pid>> levels;  // the last one is next
    std::set<std::int64_t> waited_for;
    std::vector<Pid> ended;
  };
  // Asks one level after the other, until one has to be waited for. False: the job is done.
  [[nodiscard]] bool advance(Job& job);
  void ask(Job& job, Pid pid);
  void settle();

  Parts parts_;
  std::list<Job> jobs_;
  bool is_settling_ = false;
};

}  // namespace beeline::steward
