#pragma once
// Reports to the coordinator: links that this agent has refused or postponed, and peers that have
// written false values.

#include <string>
#include <vector>

#include "src/agent/deadlines.h"
#include "src/agent/peer_links.h"
#include "src/control/client.h"
#include "src/receive/receiver.h"

namespace beeline {

class Ended;

class Reports {
 public:
  Reports(control::Client& client, OwnLife& life, receive::Receiver& receiver, PeerLinks& links,
          Ended& ended, Deadlines& deadlines)
      : client_(client),
        life_(life),
        receiver_(receiver),
        links_(links),
        ended_(ended),
        deadlines_(deadlines) {}

  // Looks for lies where no message would show them.
  void audit_links();
  // The link was not added, and will not be.
  void refuse(const control::AnnouncedLink& announced, std::string what);
  // The link waits until this agent has room for it. Its sender cannot know that, so the
  // coordinator's log says so.
  void note_waiting(Pid owner, const shm::LinkKey& key, std::string why);
  void report_quarantined();
  // All is announced again, and refused again.
  void forget_refused() { refused_.clear(); }

 private:
  void report_refused();
  void quarantine_false_receipts();  // of our own messages
  [[nodiscard]] bool is_paused() const { return deadlines_.report != Deadlines::kNever; }

  control::Client& client_;
  OwnLife& life_;
  receive::Receiver& receiver_;
  PeerLinks& links_;
  Ended& ended_;
  Deadlines& deadlines_;
  std::vector<control::ReportRequest> refused_;  // not reported yet
};

}  // namespace beeline
