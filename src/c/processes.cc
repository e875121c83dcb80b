// Children that the steward starts and ends.

#include <beeline/c/processes.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <utility>

#include <beeline/processes.h>

#include "src/c/agent_handle.h"
#include "src/c/arguments.h"
#include "src/c/list.h"
#include "src/c/spawn_words.h"

using namespace beeline::c;  // NOLINT(google-build-using-namespace): this is its outside

namespace {

beeline_exit exit_view(const beeline::ChildExit& end) {
  return {end.pid, end.exit_code, end.signal, end.known, end.reason.c_str(), end.output.c_str()};
}

// An end as the caller sees it, with its texts.
struct OwnedExit : beeline_exit {
  explicit OwnedExit(beeline::ChildExit given) : beeline_exit{}, owned(std::move(given)) {
    static_cast<beeline_exit&>(*this) = exit_view(owned);
  }
  OwnedExit(const OwnedExit&) = delete;
  OwnedExit& operator=(const OwnedExit&) = delete;

  beeline::ChildExit owned;
};

// A child with the place of its end, which the item refers to.
struct OwnedProcess {
  beeline::ChildInfo info;
  beeline_exit end{};
};

beeline_process process_view(const OwnedProcess& owned) {
  const beeline::ChildInfo& info = owned.info;
  beeline_process process{};
  process.pid = info.pid;
  process.parent = info.parent;
  process.name = info.name.c_str();
  process.role = info.role.c_str();
  process.tier = info.tier.c_str();
  process.model = info.model.c_str();
  process.state = info.state.c_str();
  process.restart = info.restart.c_str();
  process.os_pid = info.os_pid;
  process.restarts = info.restarts;
  process.started_unix_ns = info.started_unix_ns;
  process.log = info.log.c_str();
  process.end = info.end ? &owned.end : nullptr;
  return process;
}

using ProcessList = List<beeline_processes, OwnedProcess>;
using PidList = List<beeline_pids, beeline::Pid>;

std::vector<OwnedProcess> with_ends(std::vector<beeline::ChildInfo> listed) {
  std::vector<OwnedProcess> owned;
  owned.reserve(listed.size());
  for (beeline::ChildInfo& each : listed) {
    OwnedProcess& at = owned.emplace_back(OwnedProcess{std::move(each)});
    if (at.info.end) at.end = exit_view(*at.info.end);
  }
  return owned;
}

// Gives the caller a text that it need not free.
beeline_code give_state(beeline::Result<std::string> found, const char** state) {
  static constexpr std::array kStates = {"starting", "running", "sleeping", "restarting", "ended"};
  if (!found) return failed(std::move(found.error()));
  if (state == nullptr) return BEELINE_OK;
  const auto* const at = std::find(kStates.begin(), kStates.end(), *found);
  if (at == kStates.end()) {
    return failed({beeline::ErrorCode::kProtocol, 0,
                   "the steward answered with a state that this library does not know: " + *found});
  }
  *state = *at;
  return BEELINE_OK;
}

}  // namespace

void beeline_exit_free(beeline_exit* end) { delete static_cast<OwnedExit*>(end); }
void beeline_processes_free(beeline_processes* processes) { ProcessList::free(processes); }
void beeline_pids_free(beeline_pids* pids) { PidList::free(pids); }

beeline_code beeline_spawn(beeline_agent* agent, const beeline_spawn_options* options,
                           beeline_pid* pid, int32_t* os_pid) {
  return checked(__func__, {{"agent", agent}, {"options", options}, {"pid", pid}},
                 [&](const char* function) -> beeline_code {
                   *pid = 0;
                   beeline::SpawnOptions wanted;
                   const beeline_code read = read_options(function, options, wanted);
                   if (read != BEELINE_OK) return read;
                   auto child = agent->agent.processes().spawn(wanted);
                   if (!child) return failed(std::move(child.error()));
                   *pid = child->pid;
                   if (os_pid != nullptr) *os_pid = child->os_pid;
                   return BEELINE_OK;
                 });
}

beeline_code beeline_kill_child(beeline_agent* agent, beeline_peer child, bool recursive,
                                beeline_pids** killed) {
  return checked(__func__, {{"agent", agent}}, [&](const char*) -> beeline_code {
    if (killed != nullptr) *killed = nullptr;
    auto pids = agent->agent.processes().kill(to_of(child), recursive);
    if (!pids) return failed(std::move(pids.error()));
    if (killed == nullptr) return BEELINE_OK;
    *killed = new PidList(std::move(*pids), [](beeline::Pid pid) { return beeline_pid{pid}; });
    return BEELINE_OK;
  });
}

beeline_code beeline_wait_child(beeline_agent* agent, beeline_peer child, int64_t timeout_ns,
                                beeline_exit** end) {
  return checked(__func__, {{"agent", agent}, {"end", end}}, [&](const char*) -> beeline_code {
    *end = nullptr;
    auto waited = agent->agent.processes().wait(
        to_of(child), std::chrono::ceil<std::chrono::milliseconds>(wait_of(timeout_ns)));
    if (!waited) return failed(std::move(waited.error()));
    *end = new OwnedExit(std::move(*waited));
    return BEELINE_OK;
  });
}

beeline_code beeline_list_processes(beeline_agent* agent, bool recursive,
                                    beeline_processes** processes) {
  return checked(__func__, {{"agent", agent}, {"processes", processes}},
                 [&](const char*) -> beeline_code {
                   *processes = nullptr;
                   auto listed = agent->agent.processes().list(recursive);
                   if (!listed) return failed(std::move(listed.error()));
                   *processes = new ProcessList(with_ends(std::move(*listed)), process_view);
                   return BEELINE_OK;
                 });
}

beeline_code beeline_signal_child(beeline_agent* agent, beeline_peer child, int32_t signal,
                                  const char** state) {
  return checked(__func__, {{"agent", agent}}, [&](const char* function) -> beeline_code {
    if (state != nullptr) *state = nullptr;
    if (signal < BEELINE_SIGNAL_TERM || signal > BEELINE_SIGNAL_USR2) {
      return invalid(function, {"`signal` is none of BEELINE_SIGNAL_*"});
    }
    return give_state(
        agent->agent.processes().signal(to_of(child), static_cast<beeline::Signal>(signal)), state);
  });
}

beeline_code beeline_sleep_child(beeline_agent* agent, beeline_peer child, const char** state) {
  return checked(__func__, {{"agent", agent}}, [&](const char*) -> beeline_code {
    if (state != nullptr) *state = nullptr;
    return give_state(agent->agent.processes().sleep(to_of(child)), state);
  });
}

beeline_code beeline_wake_child(beeline_agent* agent, beeline_peer child, const char** state) {
  return checked(__func__, {{"agent", agent}}, [&](const char*) -> beeline_code {
    if (state != nullptr) *state = nullptr;
    return give_state(agent->agent.processes().wake(to_of(child)), state);
  });
}
