// The calls about processes: each is a request to the steward.

#include <beeline/processes.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <string>
#include <string_view>

#include "src/agent/core.h"
#include "src/agent/process_json.h"

namespace beeline {

namespace {

constexpr Pid kSteward = 1;
// The steward answers at its own deadline; this much later its answer has come.
constexpr std::chrono::milliseconds kForTheAnswer = std::chrono::seconds(10);
constexpr std::chrono::milliseconds kForAKill = std::chrono::minutes(5);
// Longer times are shortened to this one.
constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365);

std::chrono::milliseconds bounded(std::chrono::milliseconds time) {
  return std::clamp(time, std::chrono::milliseconds(0), kLongest);
}

Result<Message> ask_steward(AgentCore& core, std::string_view type, std::string_view request,
                            std::chrono::milliseconds patience) {
  const auto steward = core.names().peer(To(kSteward));
  if (!steward) return tl::unexpected(steward.error());
  SendOptions options;
  options.type = type;
  options.cancel_on_timeout = true;  // so that no later steward does it for nobody
  return core.questions().request(*steward, std::as_bytes(std::span(request)), after(patience),
                                  options);
}

Result<std::string> text_of_child(const To& child) {
  if (child.is_name()) return std::string(child.name());
  if (child.peer().pid != 0) return std::to_string(child.peer().pid);
  return fail(ErrorCode::kInvalid, "0 is no agent: give the name or the pid of a child");
}

// `request` makes the request from the name or the pid of the child.
template <typename Request>
Result<std::string> ask_about_state(AgentCore& core, std::string_view type, const To& child,
                                    const Request& request) {
  const auto named = text_of_child(child);
  if (!named) return tl::unexpected(named.error());
  const auto text = request(*named);
  if (!text) return tl::unexpected(text.error());
  const auto answer = ask_steward(core, type, *text, kForTheAnswer);
  if (!answer) return tl::unexpected(answer.error());
  return read_state(type, answer->text());
}

}  // namespace

Result<SpawnedChild> Processes::spawn(const SpawnOptions& options) {
  const auto request = spawn_request(options);
  if (!request) return tl::unexpected(request.error());
  const auto answer =
      ask_steward(*core_, kSpawnRequest, *request, bounded(options.ready_within) + kForTheAnswer);
  if (!answer) return tl::unexpected(answer.error());
  return read_spawned(answer->text());
}

Result<std::vector<Pid>> Processes::kill(const To& child, bool recursive) {
  const auto named = text_of_child(child);
  if (!named) return tl::unexpected(named.error());
  const auto request = kill_request(*named, recursive);
  if (!request) return tl::unexpected(request.error());
  const auto answer = ask_steward(*core_, kKillRequest, *request, kForAKill);
  if (!answer) return tl::unexpected(answer.error());
  return read_killed(answer->text());
}

Result<ChildExit> Processes::wait(const To& child, std::chrono::milliseconds timeout) {
  const auto named = text_of_child(child);
  if (!named) return tl::unexpected(named.error());
  const auto request = wait_request(*named, bounded(timeout));
  if (!request) return tl::unexpected(request.error());
  const auto answer = ask_steward(*core_, kWaitRequest, *request, bounded(timeout) + kForTheAnswer);
  if (!answer) return tl::unexpected(answer.error());
  return read_exit(answer->text());
}

Result<std::vector<ChildInfo>> Processes::list(bool recursive) {
  const auto answer = ask_steward(*core_, kListRequest, list_request(recursive), kForTheAnswer);
  if (!answer) return tl::unexpected(answer.error());
  return read_children(answer->text());
}

Result<std::string> Processes::signal(const To& child, Signal signal) {
  return ask_about_state(*core_, kSignalRequest, child, [signal](const std::string& named) {
    return signal_request(named, signal);
  });
}

Result<std::string> Processes::sleep(const To& child) {
  return ask_about_state(*core_, kSleepRequest, child, [](const std::string& named) {
    return sleep_request(kSleepRequest, named);
  });
}

Result<std::string> Processes::wake(const To& child) {
  return ask_about_state(*core_, kWakeRequest, child, [](const std::string& named) {
    return sleep_request(kWakeRequest, named);
  });
}

}  // namespace beeline
