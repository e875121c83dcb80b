#pragma once

// Pid 1 of a hive at work: one thread that waits for requests, for the ends of children and for the
// time, and never for anything else.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <beeline/agent.h>
#include <beeline/king.h>
#include <beeline/result.h>

#include "src/os/fd.h"
#include "src/steward/alarms.h"
#include "src/steward/applier.h"
#include "src/steward/desk.h"
#include "src/steward/family.h"
#include "src/steward/keeper_line.h"
#include "src/steward/kills.h"
#include "src/steward/launcher.h"
#include "src/steward/letters.h"
#include "src/steward/nursery.h"
#include "src/steward/roster.h"
#include "src/steward/spawns.h"
#include "src/steward/store.h"
#include "src/steward/watch.h"

namespace beeline::steward {

class Steward {
 public:
  struct Foundation {
    std::string hive;
    std::string directory;  // of the steward's files
    Agent agent;
    King king;
    KeeperLine keeper;
    Store store;
    Watch watch;
    os::UniqueFd timer;
  };
  explicit Steward(Foundation foundation);

  // Takes over from the steward before it. Errors: those of the store and the keeper, kTimeout (the
  // keeper is silent), those of Agent::children().
  [[nodiscard]] Result<void> settle();
  // Works until the hive has ended.
  void run();

 private:
  [[nodiscard]] Nursery::Events events();
  void turn();
  void hear_king();
  void hear(const LifeEvent& event);
  void hear_keeper();
  [[nodiscard]] bool is_blind() const;
  void hear_late_exits();
  void hear_list();
  [[nodiscard]] bool take_messages();
  void hear_alarms();
  void hear(const Watch::Event& event);
  void wait(Deadline agent_wants);
  void ask_for_list();
  // The list could not be had: it is asked for again soon.
  void lack_list(const Error& error);
  // Children that have attached while no event said so.
  void find_ready();
  // `has_keeper`: it waits for this end, and the coordinator with it.
  void begin_end(bool has_keeper);
  void trim_outputs();
  void tidy();

  Foundation base_;
  Alarms alarms_{};
  Family family_{};
  Roster roster_;
  Letters letters_;
  Launcher launcher_;
  Nursery nursery_;
  Kills kills_;
  Spawns spawns_;
  Applier applier_;
  Desk desk_;
  int king_fd_ = -1;
  std::optional<CallId> list_call_{};
  bool is_list_old_ = false;  // another one was wanted after `list_call_` was made
  bool has_missed_ = false;   // events were missed, and no list has told of them yet
  bool covers_miss_ = false;  // `list_call_` was made after that
  std::vector<std::pair<pid_t, int>> late_exits_{};  // adopted processes, with their wait status
  std::int64_t timer_at_ns_ = 0;
  bool is_ending_ = false;
  bool is_over_ = false;
};

}  // namespace beeline::steward
