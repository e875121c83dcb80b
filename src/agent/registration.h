#pragma once
// How this agent is registered with the coordinator: the connection, and registering again after
// the coordinator was restarted or the connection was lost.

#include <chrono>
#include <cstdint>

#include "src/agent/deadlines.h"
#include "src/agent/directory.h"
#include "src/agent/peer_links.h"
#include "src/control/client.h"

namespace beeline {

class Announcements;
class Arrivals;
class Ended;
class Escalations;
class Family;
class LinkOpener;
class Reports;
class Sleeper;

class Registration {
 public:
  struct Needs {
    OwnLife& life;
    Directory& directory;
    receive::Receiver& receiver;
    PeerLinks& links;
    LinkOpener& opener;
    Arrivals& arrivals;
    Announcements& announcements;
    Ended& ended;
    Reports& reports;
    Family& family;
    Escalations& escalations;
    Sleeper& sleeper;
    Deadlines& deadlines;
  };
  Registration(control::Client& client, const Needs& needs);

  // Shows the coordinator what others need to reach this agent. `is_ready`: it may be told of.
  [[nodiscard]] Result<void> provide(bool is_ready);
  void adopt_directory(segment::Foreign memory, std::uint32_t index);

  void resume_sometimes();
  // In a call that may wait for the coordinator. One that did not answer is waited for once.
  // Errors: kClosed, kNoCoordinator, kTimeout ...
  Result<void> resume_in_call();
  // The coordinator had not answered when it was waited for last.
  [[nodiscard]] bool is_silent() const { return is_silent_; }
  // In a call in which the user wants nothing of the coordinator.
  [[nodiscard]] bool is_unasked() const { return unasked_; }
  void say_goodbye();

  // While one exists the coordinator is waited for less long, and not at all where it has gone.
  class Unasked {
   public:
    explicit Unasked(Registration& registration);
    ~Unasked();
    Unasked(const Unasked&) = delete;
    Unasked& operator=(const Unasked&) = delete;

   private:
    Registration& registration_;
    bool before_;
  };

 private:
  // Finds the coordinator again and registers.
  Result<void> resume(std::chrono::nanoseconds patience);
  Result<void> register_again();

  control::Client& client_;
  OwnLife& life_;
  Directory& directory_;
  receive::Receiver& receiver_;
  PeerLinks& links_;
  LinkOpener& opener_;
  Arrivals& arrivals_;
  Announcements& announcements_;
  Ended& ended_;
  Reports& reports_;
  Family& family_;
  Escalations& escalations_;
  Sleeper& sleeper_;
  Deadlines& deadlines_;
  shm::Incarnation hive_since_{};  // the first life that is known to a hive that we came back to
  std::int64_t resume_pause_ns_ = 0;
  bool is_silent_ = false;
  bool unasked_ = false;
};

}  // namespace beeline
