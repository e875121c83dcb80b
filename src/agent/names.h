#pragma once
// The peer that a text means.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include <beeline/agent.h>

#include "src/agent/directory.h"
#include "src/agent/own_life.h"
#include "src/control/client.h"

namespace beeline {

class Announcements;
class LinkOpener;
class Registration;

class Names {
 public:
  Names(OwnLife& life, const Directory& directory, control::Client& client, LinkOpener& opener,
        Announcements& announcements, Registration& registration)
      : life_(life),
        directory_(directory),
        client_(client),
        opener_(opener),
        announcements_(announcements),
        registration_(registration) {}

  [[nodiscard]] Result<Peer> peer(const To& to);
  [[nodiscard]] Result<Peer> peer(std::string_view name);
  // The pid of the agent that the name means, among those who are not dead; 0 if there is none.
  [[nodiscard]] Pid find_pid(std::string_view name) const;
  // No name means this agent any more.
  void forget(Pid pid);

 private:
  // Which agent a name meant when it was looked up.
  struct Known {
    Pid pid = 0;
    std::uint64_t epoch = 0;  // of the directory
    std::int64_t looked_ns = 0;
  };

  OwnLife& life_;
  const Directory& directory_;
  control::Client& client_;
  LinkOpener& opener_;
  Announcements& announcements_;
  Registration& registration_;
  std::unordered_map<std::string, Known> names_;
};

}  // namespace beeline
