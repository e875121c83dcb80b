#pragma once
// A successor takes over from its predecessor: the inbox, the in-links and the receipts.

#include <cstdint>

#include "src/agent/own_life.h"
#include "src/agent/peer_links.h"
#include "src/control/client.h"
#include "src/receive/successor.h"

namespace beeline {

class Announcements;
class Arrivals;
class Directory;
class Ended;
class LinkOpener;
class Registration;
class Reports;
class Sleeper;

// For one attach.
class Inheritance {
 public:
  struct Needs {
    OwnLife& life;
    const Directory& directory;
    control::Client& client;
    receive::Receiver& receiver;
    PeerLinks& links;
    LinkOpener& opener;
    Arrivals& arrivals;
    Ended& ended;
    Reports& reports;
    Announcements& announcements;
    Registration& registration;
    Sleeper& sleeper;
  };
  explicit Inheritance(const Needs& needs) : with_(needs) {}

  Result<void> take_over(control::Attached& attached);

 private:
  Result<void> inherit_links(std::uint32_t count, receive::Predecessor& predecessor);
  Result<control::AnnouncedLink> await_link(std::int64_t deadline_ns);
  Result<void> inherit_link(control::AnnouncedLink& announced, receive::Predecessor& predecessor);

  Needs with_;
};

}  // namespace beeline
