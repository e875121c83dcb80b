#pragma once
// Opens the links that this agent owns: the coordinator is asked for each, and again after it was
// restarted.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/agent/deadlines.h"
#include "src/agent/directory.h"
#include "src/agent/peer_links.h"
#include "src/control/client.h"

namespace beeline {

class Arrivals;
class Ended;
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
    Ended& ended;
    Registration& registration;
    Family& family;
    Deadlines& deadlines;
  };
  explicit LinkOpener(const Needs& needs);

  // The handle of a peer whose link is opened where there is none.
  [[nodiscard]] Result<Peer> peer(Pid pid);
  // The same of a peer to which the link is open; nothing if sends would fail.
  [[nodiscard]] std::optional<Peer> open_peer(Pid pid);
  // For links that the user has not asked for: a coordinator that hangs is not waited for as long,
  // and not at all where the user waits outside.
  Result<Peer> open_link_unasked(Pid pid);
  Result<control::Opened> ask_open(send::OutLink& link, bool again);

  // ---- Without a wait ----
  // Asks for the link to a peer, unless that is under way. Errors: kFull (no room in the socket
  // now), kClosed, kNoMemory, kSystem.
  Result<void> begin_open(Pid pid);
  [[nodiscard]] bool is_opening(Pid pid) const;
  // Takes the answers that have come.
  void settle_openings();
  [[nodiscard]] bool serves_receipts_alone(Pid pid) const;
  // Why the last one has failed, once.
  [[nodiscard]] std::optional<Error> take_refusal(Pid pid);
  // A link to the parent shows it the messages to a sibling.
  void show_to_parent(Pid sibling) {
    if (lacks_parent_link(sibling)) open_parent_link();
  }

  [[nodiscard]] bool has_place(const send::OutLink& link) const;
  // Not everybody may have registered with a new coordinator yet.
  [[nodiscard]] bool is_placing() const { return os::monotonic_ns() < place_until_ns_; }
  // A new coordinator knows nobody's place yet: all links are opened again.
  void begin_placing();
  void place_links();
  void free_links();
  void open_parent_link();

 private:
  // A question to the coordinator that no call waits for.
  struct Opening {
    Pid pid = 0;
    std::uint64_t seq = 0;     // of the question; 0: it has ended
    std::uint32_t serial = 0;  // of the link
    bool again = false;        // the link was there before
    std::int64_t late_ns = 0;  // no answer comes after that
    std::optional<Error> refusal{};
  };
  // False: it goes on.
  bool settle(Opening& opening);
  [[nodiscard]] Result<void> leave_old_king(Pid pid);
  [[nodiscard]] Result<send::OutLink*> link_to(Pid pid);
  [[nodiscard]] static control::OpenRequest request_of(const send::OutLink& link, bool again);
  // The coordinator's answer about a link.
  [[nodiscard]] Result<control::Opened> adopt(send::OutLink& link, control::Opened opened);
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
  Ended& ended_;
  Registration& registration_;
  Family& family_;
  Deadlines& deadlines_;
  std::int64_t place_until_ns_ = 0;
  std::int64_t next_parent_try_ns_ = 0;
  std::vector<Opening> openings_;
};

}  // namespace beeline
