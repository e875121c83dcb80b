#include "src/control/new_agent.h"

#include <utility>

#include <fmt/format.h>

#include "src/control/admission.h"
#include "src/control/records.h"
#include "src/os/clock.h"

namespace beeline::control {
namespace {

// The next pid. The keeper knows the reserved pids as well: its number counts if the file is lost
// or broken.
Result<Pid> take_pid(Hive& hive) {
  auto pid = hive.state.take_pid();
  hive.state.report(hive.log);
  const Pid reserved = hive.state.reserved();
  if (!pid || reserved == hive.kept_pids) return pid;
  // Warn once for each block, so that a newly begun log says it, too.
  if (hive.state.is_nearly_used_up()) {
    hive.log.warn("numbers_run_out",
                  "used={} left={} text=\"each new name and each temporary agent "
                  "takes one for good: end the hive in time and start a new one\"",
                  hive.state.used(), hive.state.left());
  }
  if (auto kept = hive.keeper.keep(kPidsKey, build_number(reserved), {}); !kept) {
    return tl::unexpected(kept.error());
  }
  hive.kept_pids = reserved;
  return pid;
}

}  // namespace

Result<Agent*> make_agent(Hive& hive, uid_t uid, const AttachRequest& request, Pid parent) {
  if (auto admitted = admit_agent(hive, uid, request.temporary); !admitted) {
    return tl::unexpected(std::move(admitted.error()));
  }
  const auto index = hive.directory.take_index();
  if (!index) return tl::unexpected(index.error());
  const auto pid = take_pid(hive);
  if (!pid) {
    hive.directory.give_back(*index);
    return tl::unexpected(pid.error());
  }
  AgentNode node;
  node.pid = *pid;
  node.parent = parent;
  node.role = request.role;
  node.uid = uid;
  node.name = request.name.empty() ? made_up_name(request.role, *pid) : request.name;
  hive.tree.add(std::move(node));
  Agent agent;
  agent.pid = *pid;
  agent.index = *index;
  agent.uid = uid;
  agent.temporary = request.temporary;
  agent.attached_ns = static_cast<std::uint64_t>(os::realtime_ns());
  return &hive.registry.add_agent(std::move(agent));
}

std::string made_up_name(Role role, Pid pid) { return fmt::format("{}-{}", to_string(role), pid); }

void forget_new_agent(Hive& hive, Agent& agent) {
  hive.tree.remove(agent.pid);
  hive.give_up_place(agent);
  hive.registry.remove_agent(agent.pid);
}

}  // namespace beeline::control
