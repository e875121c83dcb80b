#include "src/control/bells.h"

#include <utility>

#include "shm/check.h"
#include "src/control/identity.h"
#include "src/control/records.h"
#include "src/os/event_fd.h"

namespace beeline::control {
namespace {

// The eventfd that `ringer` signals to wake `rung`.
Result<SharedFd> bell_of(Hive& hive, const Life& ringer, const Life& rung) {
  if (!is_foreign(ringer, rung)) return rung.event;
  const BellKey key{ringer.incarnation, rung.incarnation};
  if (SharedFd known = hive.registry.bell(key)) return known;
  auto made = os::create_event_fd();
  if (!made) return tl::unexpected(std::move(made.error()));
  // Keep it before handing it out: a new coordinator must not make another one for the same pair.
  const int fd = made->get();
  if (auto kept = hive.keeper.keep(bell_key(key), build(key), {&fd, 1}); !kept) {
    return tl::unexpected(std::move(kept.error()));
  }
  SharedFd bell = share(std::move(*made));
  hive.registry.add_bell(key, bell);
  return bell;
}

}  // namespace

bool is_foreign(const Life& ringer, const Life& rung) {
  return ringer.uid != rung.uid && !is_trusted(ringer.uid);
}

Result<bool> introduce(Hive& hive, const Life& life, const Life& peer, std::vector<SharedFd>& fds) {
  BEELINE_CHECK(peer.has_process(), life.incarnation, peer.incarnation);
  const bool foreign = is_foreign(peer, life);
  auto rings = bell_of(hive, life, peer);
  if (!rings) return tl::unexpected(std::move(rings.error()));
  auto hears = foreign ? bell_of(hive, peer, life) : Result<SharedFd>(nullptr);
  if (!hears) return tl::unexpected(std::move(hears.error()));
  fds.insert(fds.end(), {peer.status, std::move(*rings)});
  if (foreign) fds.push_back(std::move(*hears));
  return foreign;
}

void drop_bells(Hive& hive, shm::Incarnation incarnation) {
  for (const BellKey& key : hive.registry.bells_of(incarnation)) {
    hive.keeper.drop(bell_key(key));
    hive.registry.remove_bell(key);
  }
}

}  // namespace beeline::control
