#include "src/agent/names.h"

#include <unistd.h>
#include <cstring>

#include "src/agent/announcements.h"
#include "src/agent/link_opener.h"
#include "src/agent/registration.h"
#include "src/control/agent_info.h"
#include "src/control/name_search.h"
#include "src/control/names.h"

namespace beeline {

namespace {

// How long a name is believed to mean the same agent while the directory does not change.
constexpr std::int64_t kNameLife = 1'000'000'000;

}  // namespace

Result<Peer> Names::peer(const To& to) {
  if (to.is_name()) return peer(to.name());
  return to.peer().valid() ? to.peer() : opener_.peer(to.peer().pid);
}

Result<Peer> Names::peer(std::string_view name) {
  if (life_.has_left()) return fail(ErrorCode::kClosed, life_.why_down());
  if (auto target = control::check_target(name); !target) return tl::unexpected(target.error());
  // In the words of the rule, which knows the ended agents; no text is no target.
  if (const auto number = control::number_from(name)) return opener_.peer(*number);
  const auto known = names_.find(std::string(name));
  // Before the search: a change that comes during it is looked for by the next call.
  const Known now{0, directory_.view().epoch(), os::coarse_ns()};
  std::optional<Peer> open;
  if (known != names_.end()) open = opener_.open_peer(known->second.pid);
  // The directory tells of a newcomer in two steps; the bound on the age is for a look between
  // them.
  const bool fresh = open && known->second.epoch == now.epoch &&
                     now.looked_ns < known->second.looked_ns + kNameLife;
  if (open && (fresh || opener_.is_placing())) return *open;  // a missing peer is not replaced
  Pid found = find_pid(name);
  // A coordinator that is gone has published nobody new. It is seen to be gone behind all that it
  // has announced.
  const std::int64_t end_ns = os::monotonic_ns() + life_.options().control_timeout.count();
  for (bool more = found == 0; more && os::monotonic_ns() < end_ns;
       more = announcements_.hears_more()) {
    announcements_.handle_some_announcements();
  }
  if (found == 0 && client_.closed()) {
    if (auto done = registration_.resume_in_call(); !done)
      return tl::unexpected(std::move(done.error()));
    found = find_pid(name);
  }
  if (life_.has_left()) return fail(ErrorCode::kClosed, life_.why_down());
  if (found == 0)
    return tl::unexpected(control::nobody_named(name, life_.hive(), client_.directory()));
  auto opened = opener_.peer(found);
  if (opened) names_[std::string(name)] = {found, now.epoch, now.looked_ns};
  return opened;
}

// The pid of the agent that the name means, among those who are not dead; 0 if there is none.
Pid Names::find_pid(std::string_view name) const {
  shm::AgentRecord own;
  const bool is_known =
      directory_.view().read_record(directory_.index(), own) && own.pid == life_.pid();
  control::NameSearch search(name, is_known ? own.uid : ::geteuid());
  const std::uint32_t count = directory_.view().agent_count();
  for (std::uint32_t i = 0; i < count; ++i) {
    const shm::AgentState state = directory_.view().agent(i).state;
    shm::AgentRecord record;
    if (state == shm::AgentState::kVacant || state == shm::AgentState::kDead) continue;
    if (!directory_.view().read_record(i, record)) continue;
    search.offer(record.pid, {record.name, strnlen(record.name, shm::kNameBytes)}, record.uid);
  }
  return search.found();
}

void Names::forget(Pid pid) {
  std::erase_if(names_, [pid](const auto& name) { return name.second.pid == pid; });
}

}  // namespace beeline
