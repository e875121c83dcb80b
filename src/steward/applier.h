#pragma once

// Brings the children of the start file to the state that the file wants: ends, restarts, starts,
// and answers once all of them are ready or have failed. One file at a time.

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <beeline/message.h>

#include "src/steward/caller.h"
#include "src/steward/kills.h"
#include "src/steward/letters.h"
#include "src/steward/nursery.h"
#include "src/steward/plan.h"
#include "src/steward/request.h"
#include "src/steward/roster.h"
#include "src/steward/spawns.h"
#include "src/steward/start_file.h"

namespace beeline::steward {

class Applier {
 public:
  struct Parts {
    Family& family;
    Roster& roster;
    Nursery& nursery;
    Kills& kills;
    Spawns& spawns;
    Letters& letters;
  };
  Applier(const Parts& parts, std::string hive) : parts_(parts), hive_(std::move(hive)) {}

  // Answers the message when all is done. Errors, in the answer: kDenied, kInvalid (the file),
  // kSystem (an agent did not start).
  void handle(const Caller& caller, ApplyRequest request, Message message);

  // For the Nursery.
  void hear_ready(const Child& child);
  void hear_failed(const Child& child, const Error& error);
  void hear_end(const Child& child);

 private:
  struct Job {
    Caller caller{};
    ApplyRequest request{};
    Message message;
    StartFile file{};
    std::deque<std::string> to_end{};
    std::deque<std::size_t> to_start{};
    std::map<std::int64_t, std::string> waited_for{};  // children that start, by id
    bool is_ending = false;                            // the first of to_end
    bool has_restarted = false;
    std::size_t same = 0;
    std::vector<std::size_t> to_restart{};
    std::vector<std::string> started{};
    std::vector<std::string> restarted{};
    std::vector<std::string> ended{};
    std::vector<std::string> faults{};
  };
  void begin();
  [[nodiscard]] Result<void> plan(Job& job);
  [[nodiscard]] std::vector<PresentChild> present_children();
  // Takes the next steps; the first job is over when there are none.
  void advance();
  [[nodiscard]] bool end_next(Job& job);
  void restart_all(Job& job);
  void start_some(Job& job);
  void start_one(Job& job, const StartAgent& agent);
  void add_fault(Job& job, const StartAgent& agent, const std::string& text);
  void finish();

  Parts parts_;
  std::string hive_;
  std::deque<Job> jobs_{};
  bool is_advancing_ = false;
};

}  // namespace beeline::steward
