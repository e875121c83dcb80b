#include "src/agent/process_json.h"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/control/wire.h"

namespace beeline {

namespace {

using ProcessJson = nlohmann::json;

// dump() throws where a text is no UTF-8; its words name the byte.
Result<std::string> text_of_request(std::string_view type, const ProcessJson& json) {
  try {
    return json.dump();
  } catch (const ProcessJson::exception& error) {
    return fail(ErrorCode::kInvalid,
                fmt::format("{}: a text of the request is no UTF-8 ({}); nothing was sent", type,
                            error.what()));
  }
}

// Reads an answer of the steward. The first value that is missing or of another type is the error.
class StewardAnswer {
 public:
  StewardAnswer(std::string_view type, const ProcessJson& json) : type_(type), json_(json) {}

  void read(const char* key, std::string& to) {
    const ProcessJson* const at = find(key, "a text");
    if (at == nullptr) return;
    if (!at->is_string()) return refuse(key, "a text", at);
    to = *at->get_ptr<const std::string*>();
  }
  void read(const char* key, bool& to) {
    const ProcessJson* const at = find(key, "true or false");
    if (at == nullptr) return;
    if (!at->is_boolean()) return refuse(key, "true or false", at);
    to = at->get<bool>();
  }
  template <std::integral Number>
  void read(const char* key, Number& to) {
    const ProcessJson* const at = find(key, "a number");
    if (at != nullptr && !take_number(*at, to)) refuse(key, number_words<Number>(), at);
  }
  template <std::integral Number>
  void read(const char* key, std::vector<Number>& to) {
    for (const ProcessJson& each : list(key)) {
      Number number = 0;
      if (!take_number(each, number)) return refuse(key, "a list of numbers", &each);
      to.push_back(number);
    }
  }
  [[nodiscard]] const ProcessJson& list(const char* key) {
    static const ProcessJson none = ProcessJson::array();
    const ProcessJson* const at = find(key, "a list");
    if (at == nullptr) return none;
    if (at->is_array()) return *at;
    refuse(key, "a list", at);
    return none;
  }
  [[nodiscard]] bool has(const char* key) const { return json_.is_object() && json_.contains(key); }

  template <typename Value>
  Result<Value> give(Value value) {
    if (error_.empty()) return value;
    return fail(ErrorCode::kProtocol,
                fmt::format("the steward broke the form of its answer to {}: {}; it has another "
                            "version than this program",
                            type_, error_));
  }
  // An error inside of an item.
  [[nodiscard]] const std::string& error() const { return error_; }
  void adopt(const std::string& error) {
    if (error_.empty()) error_ = error;
  }

 private:
  template <std::integral Number>
  static bool take_number(const ProcessJson& json, Number& to) {
    if (json.is_number_unsigned()) {
      const auto value = json.get<std::uint64_t>();
      if (!std::in_range<Number>(value)) return false;
      to = static_cast<Number>(value);
      return true;
    }
    if (!json.is_number_integer()) return false;
    const auto value = json.get<std::int64_t>();
    if (!std::in_range<Number>(value)) return false;
    to = static_cast<Number>(value);
    return true;
  }
  template <std::integral Number>
  static std::string number_words() {
    return fmt::format("a number from {} to {}", std::numeric_limits<Number>::min(),
                       std::numeric_limits<Number>::max());
  }
  const ProcessJson* find(const char* key, std::string_view wanted) {
    const auto at = json_.is_object() ? json_.find(key) : json_.end();
    if (json_.is_object() && at != json_.end()) return &*at;
    refuse(key, wanted, nullptr);
    return nullptr;
  }
  void refuse(const char* key, std::string_view wanted, const ProcessJson* found) {
    constexpr std::size_t kMostShown = 40;
    if (!error_.empty()) return;
    const std::string shown =
        found == nullptr ? "nothing"
                         : found->dump(-1, ' ', true, ProcessJson::error_handler_t::replace)
                               .substr(0, kMostShown);
    error_ = fmt::format("\"{}\" must be {}, it is {}", key, wanted, shown);
  }

  std::string_view type_;
  const ProcessJson& json_;
  std::string error_{};
};

// The error that the steward answered. An error whose code we do not know is kProtocol.
std::optional<Error> refusal_in(std::string_view type, const ProcessJson& json) {
  if (!json.is_object() || !json.contains("error")) return std::nullopt;
  const ProcessJson& error = json["error"];
  const auto text = [&error](const char* key) {
    const bool there = error.is_object() && error.contains(key) && error[key].is_string();
    return there ? error[key].get<std::string>() : std::string();
  };
  std::string words = text("text");
  if (words.empty()) words = fmt::format("the steward refused {} and gave no reason", type);
  return Error{control::error_code_from(text("code")), 0, std::move(words)};
}

// Calls `read(answer)` with an answer that is no error.
template <typename Read>
auto read_answer(std::string_view type, std::string_view text, const Read& read)
    -> decltype(read(std::declval<StewardAnswer&>())) {
  const ProcessJson json = ProcessJson::parse(text, nullptr, /*allow_exceptions=*/false);
  if (auto refused = refusal_in(type, json)) return tl::unexpected(std::move(*refused));
  StewardAnswer answer(type, json);
  return read(answer);
}

ChildExit exit_in(StewardAnswer& answer) {
  ChildExit end;
  answer.read("pid", end.pid);
  answer.read("exit_code", end.exit_code);
  answer.read("signal", end.signal);
  answer.read("known", end.known);
  answer.read("reason", end.reason);
  answer.read("output", end.output);
  return end;
}

ChildInfo child_in(StewardAnswer& answer, const ProcessJson& json) {
  ChildInfo child;
  answer.read("pid", child.pid);
  answer.read("parent", child.parent);
  answer.read("name", child.name);
  answer.read("role", child.role);
  answer.read("tier", child.tier);
  answer.read("model", child.model);
  answer.read("state", child.state);
  answer.read("restart", child.restart);
  answer.read("os_pid", child.os_pid);
  answer.read("restarts", child.restarts);
  answer.read("started_unix_ns", child.started_unix_ns);
  answer.read("log", child.log);
  if (answer.has("end")) {
    StewardAnswer end(kListRequest, json["end"]);
    child.end = exit_in(end);
    answer.adopt(end.error());
  }
  return child;
}

}  // namespace

Result<std::string> spawn_request(const SpawnOptions& options) {
  const ChildLimits& limits = options.limits;
  ProcessJson json = {{"name", options.name},
                      {"command", options.command},
                      {"role", options.role},
                      {"tier", options.tier},
                      {"model", options.model},
                      {"directory", options.directory},
                      {"environment", options.environment},
                      {"restart", options.restart},
                      {"limits",
                       {{"memory_bytes", limits.memory_bytes},
                        {"cpu_seconds", limits.cpu_seconds},
                        {"open_files", limits.open_files},
                        {"processes", limits.processes},
                        {"max_children", limits.max_children},
                        {"output_bytes", limits.output_bytes}}},
                      {"ready_within_ms", options.ready_within.count()},
                      {"grace_ms", options.grace.count()},
                      {"key", options.key}};
  if (!options.parent.empty()) json["parent"] = options.parent;
  if (options.uid) json["uid"] = *options.uid;
  // An empty text is the default of these.
  for (const char* const key : {"tier", "model", "directory", "restart", "key"}) {
    if (json[key].get_ref<const std::string&>().empty()) json.erase(key);
  }
  return text_of_request(kSpawnRequest, json);
}

Result<std::string> kill_request(std::string_view child, bool recursive) {
  return text_of_request(kKillRequest, {{"child", child}, {"recursive", recursive}});
}

Result<std::string> wait_request(std::string_view child, std::chrono::milliseconds timeout) {
  return text_of_request(kWaitRequest, {{"child", child}, {"timeout_ms", timeout.count()}});
}

std::string list_request(bool recursive) {
  return recursive ? R"({"recursive":true})" : R"({"recursive":false})";
}

Result<std::string> signal_request(std::string_view child, Signal signal) {
  const auto number = static_cast<std::size_t>(signal);
  if (number >= kSignalNames.size()) {
    return fail(ErrorCode::kInvalid,
                fmt::format("{} is no signal for a child: their numbers are 0 to {}", number,
                            kSignalNames.size() - 1));
  }
  return text_of_request(kSignalRequest, {{"child", child}, {"signal", kSignalNames[number]}});
}

Result<std::string> sleep_request(std::string_view type, std::string_view child) {
  return text_of_request(type, {{"child", child}});
}

Result<SpawnedChild> read_spawned(std::string_view answer) {
  return read_answer(kSpawnRequest, answer, [](StewardAnswer& from) {
    SpawnedChild child;
    from.read("pid", child.pid);
    from.read("name", child.name);
    from.read("os_pid", child.os_pid);
    return from.give(std::move(child));
  });
}

Result<std::vector<Pid>> read_killed(std::string_view answer) {
  return read_answer(kKillRequest, answer, [](StewardAnswer& from) {
    std::vector<Pid> killed;
    from.read("killed", killed);
    return from.give(std::move(killed));
  });
}

Result<ChildExit> read_exit(std::string_view answer) {
  return read_answer(kWaitRequest, answer,
                     [](StewardAnswer& from) { return from.give(exit_in(from)); });
}

Result<std::vector<ChildInfo>> read_children(std::string_view answer) {
  return read_answer(kListRequest, answer, [](StewardAnswer& from) {
    std::vector<ChildInfo> children;
    for (const ProcessJson& each : from.list("children")) {
      StewardAnswer item(kListRequest, each);
      children.push_back(child_in(item, each));
      from.adopt(item.error());
    }
    return from.give(std::move(children));
  });
}

Result<std::string> read_state(std::string_view type, std::string_view answer) {
  return read_answer(type, answer, [](StewardAnswer& from) {
    std::string state;
    from.read("state", state);
    return from.give(std::move(state));
  });
}

}  // namespace beeline
