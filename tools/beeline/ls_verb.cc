// ls: the hives that this user can reach.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/control/hive_search.h"
#include "src/os/clock.h"
#include "tools/beeline/hive_probe.h"
#include "tools/beeline/output.h"
#include "tools/beeline/verbs.h"

namespace beeline::cli {
namespace {

constexpr std::chrono::nanoseconds kLongestLook = std::chrono::seconds(1);

struct Listed {
  control::FoundHive found;
  std::optional<control::StatusAnswer> status;
  bool is_ours = false;  // a command without --hive joins this hive

  [[nodiscard]] std::string state() const {
    if (!found.runs) return "killed";
    return status ? "running" : "silent";
  }
  [[nodiscard]] std::string since() const { return status ? status->since : found.holder.since; }
  // The coordinator is the agent of no user, so leave it out.
  [[nodiscard]] std::uint64_t attached() const {
    return std::max<std::uint64_t>(status->running, 1) - 1;
  }
  [[nodiscard]] std::uint64_t zombies() const { return status->away; }
};

// How long ago an RFC 3339 time in UTC was; nothing if it is none.
std::optional<std::chrono::milliseconds> age_of(const std::string& since) {
  std::tm parts{};
  if (::strptime(since.c_str(), "%Y-%m-%dT%H:%M:%S", &parts) == nullptr) return std::nullopt;
  const std::int64_t then_ms = std::int64_t{::timegm(&parts)} * 1000;
  const std::int64_t now_ms = os::realtime_ns() / 1'000'000;
  return std::chrono::milliseconds(std::max<std::int64_t>(now_ms - then_ms, 0));
}

std::string age_text(std::chrono::milliseconds age) {
  const double seconds = std::chrono::duration<double>(age).count();
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 120 * 60) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{:.1f} h", seconds / 3600);
  return fmt::format("{:.1f} days", seconds / (24 * 3600));
}

std::vector<Listed> list_hives(const Context& context) {
  std::vector<Listed> hives;
  std::vector<std::string> sockets;
  const auto chosen = control::find_hive(context.hive);
  for (control::FoundHive& found : control::find_hives()) {
    Listed listed{std::move(found), std::nullopt, false};
    listed.is_ours = chosen && chosen->directory == listed.found.directory;
    if (listed.found.runs) sockets.push_back(control::paths_in(listed.found.directory, "").socket);
    hives.push_back(std::move(listed));
  }
  auto answers = ask_hives(sockets, context.timeout.value_or(kLongestLook));
  auto answer = answers.begin();
  for (Listed& listed : hives) {
    if (listed.found.runs) listed.status = std::move(*answer++);
  }
  std::stable_sort(hives.begin(), hives.end(), [](const Listed& a, const Listed& b) {
    return std::pair(!a.is_ours, a.found.hive) < std::pair(!b.is_ours, b.found.hive);
  });
  return hives;
}

Json hive_json(const Listed& listed) {
  const auto age = age_of(listed.since());
  const bool told = listed.status.has_value();
  const pid_t keeper = listed.found.holder.pid;
  return {{"hive", listed.found.hive},
          {"directory", listed.found.directory},
          {"state", listed.state()},
          {"running", listed.found.runs},
          {"current", listed.is_ours},
          {"uid", listed.found.user},
          {"keeper_pid", listed.found.runs && keeper != 0 ? Json(keeper) : Json(nullptr)},
          {"since", listed.since().empty() ? Json(nullptr) : Json(listed.since())},
          {"age_ms", age ? Json(age->count()) : Json(nullptr)},
          {"agents", told ? Json(listed.attached() + listed.zombies()) : Json(nullptr)},
          {"attached", told ? Json(listed.attached()) : Json(nullptr)},
          {"zombies", told ? Json(listed.zombies()) : Json(nullptr)}};
}

std::string hives_text(const std::vector<Listed>& hives) {
  Table table({"", "hive", "state", ">agents", ">zombies", ">age", ">uid", "directory"});
  for (const Listed& listed : hives) {
    const auto age = age_of(listed.since());
    const bool told = listed.status.has_value();
    table.add({listed.is_ours ? "*" : "", listed.found.hive, listed.state(),
               told ? grouped(listed.attached() + listed.zombies()) : "-",
               told ? grouped(listed.zombies()) : "-", age ? age_text(*age) : "-",
               fmt::format("{}", listed.found.user), listed.found.directory});
  }
  return table.text();
}

ExitCode ls(const Context& context) {
  const std::vector<Listed> hives = list_hives(context);
  if (context.json) {
    Json json = Json::array();
    for (const Listed& listed : hives) json.push_back(hive_json(listed));
    print_json(json);
  } else if (hives.empty()) {
    remark("no hive runs that you can reach; `beeline up` starts one");
  } else {
    print(hives_text(hives));
  }
  return ExitCode::kOk;
}

}  // namespace

void add_ls_verb(CLI::App& app, Context& context) {
  auto* verb = app.add_subcommand("ls", "List the hives that you can reach");
  verb->footer(
      "Examples:\n"
      "  beeline ls\n"
      "  beeline ls --json | jq -r '.[] | select(.state == \"killed\") | .directory'\n"
      "  BEELINE_DIR=/run/user/1000/beeline/default beeline tree    look into one of them\n"
      "Each with its directory, its age and its agents, those without a process (zombies) "
      "included.\n\"*\" marks the one that your commands join. States: running; silent (a process "
      "holds it and\ndid not answer within 1 s, or --timeout); killed (its files were left "
      "behind: `beeline up` goes\non there). Looks into BEELINE_DIR, XDG_RUNTIME_DIR, "
      "/run/user/UID, /run and /tmp, and wherever a\nhive listens. Starts none.");
  verb->callback([&context] { context.exit = ls(context); });
}

}  // namespace beeline::cli
