#pragma once
// The announcements of the coordinator: when this agent reads them, and which noun handles each.

#include <cstdint>

#include "src/agent/news.h"
#include "src/agent/peer_links.h"
#include "src/control/client.h"

namespace beeline {

class Arrivals;
class DeadLetters;
class Ended;

class Announcements {
 public:
  struct Needs {
    OwnLife& life;
    control::Client& client;
    Notices& notices;
    PeerLinks& links;
    Arrivals& arrivals;
    Ended& ended;
    DeadLetters& letters;
  };
  explicit Announcements(const Needs& needs);

  // The counts belong to our place in a new directory.
  void watch(const shm::PacketCounts& counts) { news_.watch(counts); }
  // Reads and handles all news that have come. One load where there are none.
  [[gnu::always_inline]] void hear() {
    if (news_.any()) [[unlikely]]
      hear_news();
  }
  // Handles all that lies in the socket.
  void handle_announcements();
  // The same for as long as a call may take for it.
  void handle_some_announcements();
  void handle(control::Announcement announcement);
  // The last turn has left announcements.
  [[nodiscard]] bool hears_more() const { return hears_more_; }
  // The same, or the coordinator is about to send one for which no call waits.
  [[nodiscard]] bool awaits_more() const {
    return hears_more_ || (life_.waits_outside() && !client_.closed() && news_.any());
  }
  // How often the coordinator has said that a name is there now.
  [[nodiscard]] std::uint64_t names_heard() const { return names_heard_; }

 private:
  void hear_news();
  void handle_ended(const control::EndedAnnouncement& ended);

  OwnLife& life_;
  control::Client& client_;
  Notices& notices_;
  PeerLinks& links_;
  Arrivals& arrivals_;
  Ended& ended_;
  DeadLetters& letters_;
  News news_;
  bool hears_more_ = false;
  std::uint64_t names_heard_ = 0;
};

}  // namespace beeline
