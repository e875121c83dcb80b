#include "src/steward/answer.h"

#include <nlohmann/json.hpp>

namespace beeline::steward {

namespace {

using AnswerJson = nlohmann::json;

// Output and names may hold bytes that are no UTF-8.
std::string text_of(const AnswerJson& json) {
  return json.dump(-1, ' ', false, AnswerJson::error_handler_t::replace);
}

AnswerJson exit_json(const ChildExit& end) {
  return {{"pid", end.pid},     {"exit_code", end.exit_code}, {"signal", end.signal},
          {"known", end.known}, {"reason", end.reason},       {"output", end.output}};
}

// The codes that an answer may have; the others mean a failure of the system.
std::string_view code_word(ErrorCode code) {
  switch (code) {
    case ErrorCode::kDenied:
    case ErrorCode::kNoAgent:
    case ErrorCode::kInvalid:
    case ErrorCode::kFull:
    case ErrorCode::kTimeout:
    case ErrorCode::kAlreadyRunning:
    case ErrorCode::kPeerDead:
      return to_string(code);
    default:
      return "system";
  }
}

}  // namespace

std::string error_text(const Error& error) {
  return text_of({{"error", {{"code", code_word(error.code)}, {"text", error.text}}}});
}

std::string spawned_text(const SpawnedChild& child) {
  return text_of({{"pid", child.pid}, {"name", child.name}, {"os_pid", child.os_pid}});
}

std::string killed_text(const std::vector<Pid>& pids) { return text_of({{"killed", pids}}); }

std::string exit_text(const ChildExit& end) { return text_of(exit_json(end)); }

std::string children_text(const std::vector<ChildInfo>& children) {
  AnswerJson list = AnswerJson::array();
  for (const ChildInfo& child : children) {
    AnswerJson item{{"pid", child.pid},
                    {"parent", child.parent},
                    {"name", child.name},
                    {"role", child.role},
                    {"tier", child.tier},
                    {"model", child.model},
                    {"state", child.state},
                    {"restart", child.restart},
                    {"os_pid", child.os_pid},
                    {"restarts", child.restarts},
                    {"started_unix_ns", child.started_unix_ns},
                    {"log", child.log}};
    if (child.end) item["end"] = exit_json(*child.end);
    list.push_back(std::move(item));
  }
  return text_of({{"children", std::move(list)}});
}

std::string signalled_text(Pid pid, std::string_view state) {
  return text_of({{"pid", pid}, {"state", state}});
}

std::string applied_text(const std::vector<std::string>& started,
                         const std::vector<std::string>& restarted,
                         const std::vector<std::string>& ended, std::size_t same,
                         const std::vector<std::string>& warnings) {
  return text_of({{"started", started},
                  {"restarted", restarted},
                  {"ended", ended},
                  {"same", same},
                  {"warnings", warnings}});
}

std::string child_exited_text(const ChildExit& end, std::string_view name) {
  return text_of({{"pid", end.pid},
                  {"name", name},
                  {"exit_code", end.exit_code},
                  {"signal", end.signal},
                  {"reason", end.reason}});
}

std::string child_crashed_text(const ChildExit& end, std::string_view name,
                               std::uint32_t attempts) {
  return text_of({{"pid", end.pid},
                  {"name", name},
                  {"exit_code", end.exit_code},
                  {"signal", end.signal},
                  {"attempts", attempts},
                  {"reason", end.reason}});
}

std::optional<ChildExit> parse_exit(std::string_view text) {
  const AnswerJson json = AnswerJson::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  ChildExit end;
  end.pid = json.value("pid", Pid{0});
  end.exit_code = json.value("exit_code", -1);
  end.signal = json.value("signal", 0);
  end.known = json.value("known", true);
  end.reason = json.value("reason", "");
  end.output = json.value("output", "");
  return end;
}

}  // namespace beeline::steward
