#pragma once
// Opens the links that this agent owns: the coordinator is asked for each, and again after it was
// restarted.

#include <cstdint>
#include <optional>
#include <string>

#include "src/agent/deadlines.h"
#include "src/agent/directory.h"
#include "src/agent/peer_links.h"
#include "src/control/client.h"

namespace beeline {

class Arrivals;
class Family;
class Registration;

class LinkOpener {
 public:
  struct Needs {
    OwnLife& life;
    const Directory& directory;
    control::Client& client;
    receive::Receiver& receiver;
    PeerLinks& links;
    Arrivals& arrivals;
    Registration& registration;
    Family& family;
    Deadlines& deadlines;
  };
  explicit LinkOpener(const Needs& needs);

  // The handle of a peer whose link is opened where there is none.
  [[nodiscard]] Result<Peer> peer(Pid pid);
  // The same of a peer to which the link is open; nothing if sends would fail.
  [[nodiscard]] std::optional<Peer> open_peer(Pid pid);
  // For links that the user has not asked for: a coordinator that hangs is not waited for as long.
  Result<Peer> open_link_unasked(Pid pid);
  Result<control::Opened> ask_open(send::OutLink& link, bool again);

  [[nodiscard]] bool has_place(const send::OutLink& link) const;
  // Not everybody may have registered with a new coordinator yet.
  [[nodiscard]] bool is_placing() const { return os::monotonic_ns() < place_until_ns_; }
  // A new coordinator knows nobody's place yet: all links are opened again.
  void begin_placing();
  void place_links();
  void free_links();
  void open_parent_link();

 private:
  Result<Peer> find_peer(Pid pid);
  Result<Peer> open_link(Pid pid);
  [[nodiscard]] std::string why_denied(Pid pid);
  [[nodiscard]] bool lacks_parent_link(Pid peer) const;

  OwnLife& life_;
  const Directory& directory_;
  control::Client& client_;
  receive::Receiver& receiver_;
  PeerLinks& links_;
  Arrivals& arrivals_;
  Registration& registration_;
  Family& family_;
  Deadlines& deadlines_;
  std::int64_t place_until_ns_ = 0;
  std::int64_t next_parent_try_ns_ = 0;
};

}  // namespace beeline
