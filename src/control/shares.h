#pragma once

// How the users of a hive share scarce resources. The rule is that of bus brokers: a user may take
// more as long as the next user could still claim as much as the first would hold then. So a
// newcomer gets a fraction of the rest at any time, and a single user gets nearly half of all. The
// hive's own user and root may take everything that is left. A part is kept back for them, and
// another one for agents that are registered already. Plain data; not thread safe.

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace beeline::control {

enum class Resource : std::uint8_t {
  kPlaces,       // of agents in the directory
  kDescriptors,  // held by the keeper: four for an agent, one for a link
  kConnections,  // without an agent
  kSentFds,      // descriptors that were sent and may not have been received yet
  kQueuedBytes,  // of packets that clients do not take
};
inline constexpr std::size_t kResources = 5;

enum class Claim : std::uint8_t {
  kReturning,  // by a registered agent that comes back
  kOwner,      // a new one by the hive's own user or root
  kOther,      // a new one by another user
};

struct Stock {
  std::size_t total = 0;
  std::size_t for_returning = 0;  // part of it for Claim::kReturning alone
  std::size_t for_owner = 0;      // part of it that Claim::kOther may not take
  std::size_t used = 0;           // by all users
};

// How much a user that holds `held` now may hold; at least `held`.
[[nodiscard]] std::size_t share_of(const Stock& stock, std::size_t held, Claim claim) noexcept;

// The amounts that each user holds.
class Shares {
 public:
  void take(uid_t user, Resource resource, std::size_t count);
  // REQUIRES: the user has taken at least this much.
  void give_back(uid_t user, Resource resource, std::size_t count);

  [[nodiscard]] std::size_t held(uid_t user, Resource resource) const;
  [[nodiscard]] std::size_t used(Resource resource) const;
  // The user that holds most of it. REQUIRES: a user holds some.
  [[nodiscard]] uid_t biggest(Resource resource) const;

 private:
  std::map<std::pair<Resource, uid_t>, std::size_t> held_;
  std::array<std::size_t, kResources> used_{};
};

}  // namespace beeline::control
