#include "tools/beeline/demo/report.h"

#include <signal.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "shm/check.h"
#include "tools/beeline/demo/role.h"
#include "tools/beeline/process_view.h"
#include "tools/beeline/tree_view.h"

namespace beeline::cli::demo {
namespace {

std::string name_of(const Story& story, std::uint32_t pid) {
  const auto found = story.accounts.find(pid);
  return found == story.accounts.end() ? fmt::format("pid {}", pid) : found->second.agent;
}

const ChildInfo* find_child(const Story& story, std::uint32_t pid) {
  const auto found = std::find_if(story.children.begin(), story.children.end(),
                                  [&](const ChildInfo& child) { return child.pid == pid; });
  return found == story.children.end() ? nullptr : &*found;
}

// Two agents that exchange messages; `upper` is the older one.
struct Pair {
  const Account* upper;
  const Account* lower;
  const LinkAccount* at_upper;
  const LinkAccount* at_lower;
};

const LinkAccount* find_link(const Account& account, std::uint32_t peer) {
  for (const LinkAccount& link : account.links) {
    if (link.peer == peer) return &link;
  }
  return nullptr;
}

std::vector<Pair> pairs(const Story& story) {
  std::vector<Pair> found;
  for (const auto& [pid, upper] : story.accounts) {
    for (const auto& [other, lower] : story.accounts) {
      const LinkAccount* at_upper = find_link(upper, other);
      const LinkAccount* at_lower = find_link(lower, pid);
      if (other > pid && at_upper != nullptr && at_lower != nullptr) {
        found.push_back({&upper, &lower, at_upper, at_lower});
      }
    }
  }
  return found;
}

// Counts come from the receivers: nobody else knows how much a killed process sent.
std::string links_text(const Story& story) {
  Table table({"messages per link", ">down", ">up", ">waiting"});
  for (const Pair& pair : pairs(story)) {
    table.add({fmt::format("{} - {}", pair.upper->agent, pair.lower->agent),
               grouped(std::max(pair.at_lower->received, pair.at_upper->sent)),
               grouped(pair.at_upper->received),
               grouped(pair.at_upper->not_taken + pair.at_lower->not_taken)});
  }
  return table.text("  ");
}

std::string accounts_text(const Story& story) {
  Table table(
      {"accounts", ">accepted", ">queued", ">leased", ">done", ">dead", ">restarts", "end"});
  for (const auto& [pid, account] : story.accounts) {
    const ChildInfo* const child = find_child(story, pid);
    table.add({account.agent, grouped(account.drained), grouped(account.queued),
               grouped(account.leased), grouped(account.done),
               grouped(account.dead + account.purged),
               child == nullptr ? "" : fmt::format("{}", child->restarts),
               child == nullptr || !child->end ? "" : exit_text(*child->end)});
  }
  return table.text("  ");
}

std::string sums_text(const Story& story) {
  Table table({"counted", ">lines", ">words", ">bytes"});
  const auto add = [&table](const std::string& who, const Totals& totals) {
    table.add({who, grouped(totals.lines), grouped(totals.words), grouped(totals.bytes)});
  };
  if (story.sum) add("by the workers", story.sum->totals);
  add("without Beeline", story.direct);
  return table.text("  ");
}

// The steward has started every process, has started the killed one again, and knows all ends.
bool all_ended(const Story& story) {
  const auto is_good = [&](const ChildInfo& child) {
    const bool was_killed = child.name == story.takeover.agent;
    return child.end && child.end->exit_code == 0 && child.restarts == (was_killed ? 1 : 0);
  };
  return story.takeover.signal == SIGKILL && story.children.size() == kWorkers + 2 &&
         std::all_of(story.children.begin(), story.children.end(), is_good);
}

bool task_moved(const Takeover& takeover) {
  return takeover.given_again == takeover.task && takeover.attempts > 1 &&
         takeover.done_by_os_pid == takeover.new_os_pid &&
         takeover.new_os_pid != takeover.killed_os_pid;
}

// Ignore links to agents that have left, such as the visitor that measured the round trips: nobody
// knows any more how many messages those agents took.
bool all_settled(const Story& story) {
  const auto linked = pairs(story);
  std::uint64_t dead = 0;
  for (const auto& [pid, account] : story.accounts) dead += account.dead + account.purged;
  return dead == story.lost && story.accounts.size() == kWorkers + 2 &&
         linked.size() == kWorkers + 1 &&
         std::all_of(linked.begin(), linked.end(),
                     [](const Pair& pair) {
                       return pair.at_upper->not_taken == 0 && pair.at_lower->not_taken == 0;
                     }) &&
         std::all_of(story.accounts.begin(), story.accounts.end(),
                     [](const auto& entry) { return entry.second.settled(); });
}

}  // namespace

bool Account::settled() const noexcept {
  return drained == done + dead + purged && queued == 0 && tasks == 0 && leased == 0;
}

double RoundTrips::us_at(double share) const {
  BEELINE_CHECK(!sorted_ns.empty() && 0 <= share && share <= 1, sorted_ns.size(), share);
  const auto last = static_cast<double>(sorted_ns.size() - 1);
  return static_cast<double>(sorted_ns[static_cast<std::size_t>(std::llround(share * last))]) / 1e3;
}

std::vector<Check> checks(const Story& story) {
  return {
      {"the total equals the count made without Beeline",
       story.sum && story.sum->totals == story.direct},
      {fmt::format("each of the {} tasks is counted once", grouped(story.tasks)),
       story.sum && story.sum->tasks == story.tasks},
      {"the task of the killed process was done by another process", task_moved(story.takeover)},
      {fmt::format("all that was accepted is done, in every inbox, but for the {} tasks that the "
                   "killed process had",
                   grouped(story.lost)),
       all_settled(story)},
      {"the steward saw the end of every process, and started the killed one again",
       all_ended(story)},
      {"no process and no file is left", story.clean},
  };
}

std::string opening_text(const Story& story) {
  std::string text =
      styled(Style::kBold, fmt::format("Beeline demo: the words of {}\n", story.directory));
  text += fmt::format(
      "  {} files, {} lines, cut into {} tasks; 6 agents, each a process{}{}\n",
      story.files.paths.size(), grouped(story.direct.lines), grouped(story.tasks),
      story.python.empty() ? "" : ", worker-4 in Python",
      story.files.skipped != 0 ? fmt::format("; {} files are no text", story.files.skipped) : "");
  text +=
      "  a queen spawns a lead, which spawns 4 workers; one is killed, and is started again after "
      "5 "
      "s\n";
  return text;
}

std::string killing_text(const Story& story) {
  const Takeover& takeover = story.takeover;
  return fmt::format("  {}  {} (process {}) while it does task {}\n",
                     styled(Style::kBad, "kill -9"), takeover.agent, takeover.killed_os_pid,
                     takeover.task);
}

std::string result_text(const Story& story) {
  const Takeover& takeover = story.takeover;
  std::string text;
  if (takeover.given_again) {
    text += fmt::format(
        "  {}  process {} is {} now; task {} was given again (attempt {}) and is done\n",
        styled(Style::kGood, "go on  "), takeover.done_by_os_pid, takeover.agent,
        *takeover.given_again, takeover.attempts);
  }
  text += '\n' + sums_text(story) + '\n' + draw_tree(story.agents, "  ");
  if (!story.accounts.empty()) text += '\n' + links_text(story) + '\n' + accounts_text(story);
  if (const RoundTrips& trips = story.round_trips; !trips.sorted_ns.empty()) {
    text += fmt::format(
        "\n  round trip to an idle worker, 64 bytes, {} times: p50 {:.2f} us, p99 {:.2f} us\n",
        grouped(trips.sorted_ns.size()), trips.us_at(0.5), trips.us_at(0.99));
  }
  return text;
}

std::string checks_text(const Story& story) {
  std::string text = "\n";
  for (const Check& check : checks(story)) {
    text += fmt::format("{}  {}\n",
                        check.passed ? styled(Style::kGood, "PASS") : styled(Style::kBad, "FAIL"),
                        check.text);
  }
  return text;
}

Json report_json(const Story& story) {
  Json json;
  json["directory"] = story.directory;
  json["files"] = story.files.paths.size();
  json["tasks"] = story.tasks;
  json["lines"] = story.direct.lines;
  json["words"] = story.direct.words;
  json["bytes"] = story.direct.bytes;
  json["lost"] = story.lost;
  json["python"] = !story.python.empty();
  json["killed"] = {{"agent", story.takeover.agent},
                    {"task", story.takeover.task},
                    {"os_pid", story.takeover.killed_os_pid},
                    {"signal", story.takeover.signal},
                    {"done_by_os_pid", story.takeover.done_by_os_pid},
                    {"attempts", story.takeover.attempts}};
  json["tree"] = tree_json(story.agents);
  json["children"] = children_json(story.children);
  json["accounts"] = Json::array();
  for (const auto& [pid, account] : story.accounts) {
    Json entry = {{"agent", account.agent},     {"pid", pid},
                  {"drained", account.drained}, {"queued", account.queued},
                  {"tasks", account.tasks},     {"leased", account.leased},
                  {"done", account.done},       {"dead", account.dead},
                  {"purged", account.purged},   {"links", Json::array()}};
    for (const LinkAccount& link : account.links) {
      entry["links"].push_back({{"peer", name_of(story, link.peer)},
                                {"sent", link.sent},
                                {"not_taken", link.not_taken},
                                {"received", link.received}});
    }
    json["accounts"].push_back(std::move(entry));
  }
  if (!story.round_trips.sorted_ns.empty()) {
    const auto ms_at = [&](double share) { return story.round_trips.us_at(share) / 1e3; };
    json["round_trip_ms"] = {{"count", story.round_trips.sorted_ns.size()},
                             {"p50", ms_at(0.5)},
                             {"p90", ms_at(0.9)},
                             {"p99", ms_at(0.99)},
                             {"max", ms_at(1)}};
  }
  json["checks"] = Json::array();
  for (const Check& check : checks(story)) {
    json["checks"].push_back({{"text", check.text}, {"passed", check.passed}});
  }
  return json;
}

}  // namespace beeline::cli::demo
