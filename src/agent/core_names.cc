// The peer that a text means, and the wait for one that is not there yet.

#include <unistd.h>

#include <cstring>

#include "src/agent/core.h"
#include "src/agent/name_wait.h"
#include "src/control/agent_info.h"
#include "src/control/name_search.h"
#include "src/control/names.h"

namespace beeline {

namespace {

// How long a name is believed to mean the same agent while the directory does not change.
constexpr std::int64_t kNameLife = 1'000'000'000;

}  // namespace

Result<Peer> AgentCore::peer(const To& to) {
  if (to.is_name()) return peer(to.name());
  return to.peer().valid() ? to.peer() : peer(to.peer().pid);
}

Result<Peer> AgentCore::peer(std::string_view name) {
  if (has_left()) return fail(ErrorCode::kClosed, why_down());
  if (auto target = control::check_target(name); !target) return tl::unexpected(target.error());
  // In the words of the rule, which knows who has ended; no text is no target.
  if (const auto number = control::number_from(name)) return peer(*number);
  const auto known = names_.find(std::string(name));
  // Before the search: a change that comes during it is looked for by the next call.
  const KnownName now{0, directory_view_.epoch(), os::coarse_ns()};
  std::optional<Peer> open;
  if (known != names_.end()) open = open_peer(known->second.pid);
  // The directory tells of a newcomer in two steps; the bound on the age is for who looks between.
  const bool fresh = open && known->second.epoch == now.epoch &&
                     now.looked_ns < known->second.looked_ns + kNameLife;
  if (open && (fresh || is_placing())) return *open;  // who is missing is not replaced
  Pid found = find_pid(name);
  // A coordinator that is gone has published nobody new. It is seen to be gone behind all that it
  // has announced.
  const std::int64_t end_ns = os::monotonic_ns() + options_.control_timeout.count();
  for (bool more = found == 0; more && os::monotonic_ns() < end_ns; more = hears_more_) {
    handle_some_announcements();
  }
  if (found == 0 && client_.closed()) {
    if (auto done = resume_in_call(); !done) return tl::unexpected(std::move(done.error()));
    found = find_pid(name);
  }
  if (has_left()) return fail(ErrorCode::kClosed, why_down());
  if (found == 0) return tl::unexpected(control::nobody_named(name, hive_, client_.directory()));
  auto opened = peer(found);
  if (opened) names_[std::string(name)] = {found, now.epoch, now.looked_ns};
  return opened;
}

// The pid of the agent that the name means, among those who are not dead; 0 if there is none.
Pid AgentCore::find_pid(std::string_view name) const {
  shm::AgentRecord own;
  const bool is_known = directory_view_.read_record(index_, own) && own.pid == pid_;
  control::NameSearch search(name, is_known ? own.uid : ::geteuid());
  const std::uint32_t count = directory_view_.agent_count();
  for (std::uint32_t i = 0; i < count; ++i) {
    const shm::AgentState state = directory_view_.agent(i).state;
    shm::AgentRecord record;
    if (state == shm::AgentState::kVacant || state == shm::AgentState::kDead) continue;
    if (!directory_view_.read_record(i, record)) continue;
    search.offer(record.pid, {record.name, strnlen(record.name, shm::kNameBytes)}, record.uid);
  }
  return search.found();
}

Result<Peer> AgentCore::wait_for(std::string_view name, Deadline deadline,
                                 const WaitOptions& options) {
  return NameWait(*this, name, deadline).run(options);
}

}  // namespace beeline
