#include "tools/beeline/survey_view.h"

#include <optional>

#include <fmt/format.h>

#include "src/control/agent_info.h"

namespace beeline::cli {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kSecond = 1'000 * kMillisecond;
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;

std::string ago(std::optional<std::int64_t> age_ns) {
  return age_ns ? duration_text(*age_ns) + " ago" : "-";
}

Json milliseconds(std::optional<std::int64_t> duration_ns) {
  return duration_ns ? Json(*duration_ns / kMillisecond) : Json(nullptr);
}

char letter(ProcessState state) {
  constexpr std::string_view kLetters = "RSDTZ";
  return kLetters.at(static_cast<std::size_t>(state));
}

}  // namespace

std::string duration_text(std::int64_t duration_ns) {
  if (duration_ns < 2 * kMinute) {
    return fmt::format("{:.1f} s", static_cast<double>(duration_ns) / kSecond);
  }
  if (duration_ns < 2 * kHour) return fmt::format("{} min", duration_ns / kMinute);
  if (duration_ns < 2 * kDay) return fmt::format("{} h", duration_ns / kHour);
  return fmt::format("{} d", duration_ns / kDay);
}

std::vector<std::string> vitals_headings() {
  return {">waiting", ">oldest sent", ">in hand", ">oldest sent", ">memory", ">restarts", ">up"};
}

std::vector<std::string> vitals_cells(const Survey& survey, const control::ListedAgent& agent) {
  std::vector<std::string> cells(4, "-");
  const Account* account = survey.accounts().find(agent.pid);
  if (account != nullptr && !account->is_readable()) {
    cells = {std::string(kUnreadable), "?", "?", "?"};
  } else if (account != nullptr) {
    cells = {grouped(account->waiting()), ago(survey.age_ns(account->oldest_waiting_ns)),
             grouped(account->leased), ago(survey.age_ns(account->oldest_in_hand_ns))};
  }
  const auto memory = survey.memory_bytes(agent.pid);
  const auto up = survey.up_ns(agent);
  cells.push_back(memory ? fmt::format("{} KiB", grouped(*memory / 1024)) : "?");
  cells.push_back(grouped(agent.restarts));
  cells.push_back(up ? duration_text(*up) : "-");
  return cells;
}

std::string process_text(const Survey& survey, const control::ListedAgent& agent) {
  const auto& process = survey.process_of(agent.pid);
  if (!process) return "-";
  if (!*process) return fmt::format("{}: {}", kUnreadable, process->error().text);
  return fmt::format("{} ({})", to_string(**process), letter(**process));
}

void add_vitals(const Survey& survey, const control::ListedAgent& agent, Json& json) {
  const auto& process = survey.process_of(agent.pid);
  const bool is_known = process && *process;
  json["state"] = survey.state_word(agent);
  json["activity"] = to_string(control::state_of(agent));
  json["process"] = is_known ? Json(to_string(**process)) : Json(nullptr);
  json["process_error"] = process && !*process ? Json(process->error().text) : Json(nullptr);
  const Account* account = survey.accounts().find(agent.pid);
  const bool is_read = account != nullptr && account->is_readable();
  json["waiting"] = is_read ? Json(account->waiting()) : Json(nullptr);
  json["oldest_waiting_ms"] =
      is_read ? milliseconds(survey.age_ns(account->oldest_waiting_ns)) : Json(nullptr);
  json["in_hand"] = is_read ? Json(account->leased) : Json(nullptr);
  json["oldest_in_hand_sent_ms"] =
      is_read ? milliseconds(survey.age_ns(account->oldest_in_hand_ns)) : Json(nullptr);
  json["accounts_error"] =
      account != nullptr && !is_read ? Json(account->unreadable) : Json(nullptr);
  const auto memory = survey.memory_bytes(agent.pid);
  json["memory_bytes"] = memory ? Json(*memory) : Json(nullptr);
  json["restarts"] = agent.restarts;
  json["up_ms"] = milliseconds(survey.up_ns(agent));
}

}  // namespace beeline::cli
