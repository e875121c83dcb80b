#pragma once

// How the users of a hive share what it has little of. The rule is that of bus brokers: a user may
// take more as long as the next user could still claim as much as he would hold then. So a newcomer
// gets a fraction of what is left at any time, and a single user gets nearly half of all. The
// hive's own user and root may take all that is left. A part is kept back for them, and another one
// for agents that are registered already. Plain data; not thread safe.

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace beeline::control {

enum class Resource : std::uint8_t {
  kPlaces,       ///< of agents in the directory
  kDescriptors,  ///< that the keeper holds: four for an agent, one for a link
  kConnections,  ///< that speak for no agent
  kSentFds,      ///< descriptors that were sent and may not have been received yet
  kQueuedBytes,  ///< of packets that their clients do not take
};
inline constexpr std::size_t kResources = 5;

enum class Claim : std::uint8_t {
  kReturning,  ///< of an agent that is registered: it comes back
  kOwner,      ///< something new of the hive's own user or of root
  kOther,      ///< something new of another user
};

struct Stock {
  std::size_t total = 0;
  std::size_t for_returning = 0;  ///< of it, for Claim::kReturning alone
  std::size_t for_owner = 0;      ///< of it, for everybody but Claim::kOther
  std::size_t used = 0;           ///< by all users
};

/// How much a user may hold who holds `held` now; never less than that.
[[nodiscard]] std::size_t share_of(const Stock& stock, std::size_t held, Claim claim) noexcept;

/// What each user holds.
class Shares {
 public:
  void take(uid_t user, Resource resource, std::size_t count);
  /// REQUIRES: the user has taken so much.
  void give_back(uid_t user, Resource resource, std::size_t count);

  [[nodiscard]] std::size_t held(uid_t user, Resource resource) const;
  [[nodiscard]] std::size_t used(Resource resource) const;
  /// The user that holds most of it. REQUIRES: somebody holds some.
  [[nodiscard]] uid_t biggest(Resource resource) const;

 private:
  std::map<std::pair<Resource, uid_t>, std::size_t> held_;
  std::array<std::size_t, kResources> used_{};
};

}  // namespace beeline::control
