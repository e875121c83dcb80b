#include "tools/beeline/spool_view.h"

#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "src/os/clock.h"
#include "tools/beeline/spool_options.h"
#include "tools/beeline/survey_view.h"

namespace beeline::cli {
namespace {

constexpr std::array kVariables = {"DROVER_MAILBOX_DIR", "DROVER_MAILBOX_ENABLED",
                                   "DROVER_MAILBOX_OUTBOX_RETENTION",
                                   "DROVER_MAILBOX_FAILED_RETENTION"};
// Texts that may have many lines.
constexpr std::array<std::string_view, 2> kLongKeys = {"description", "output"};

// One line for a cell of a table.
std::string cell(std::string_view text) {
  constexpr std::size_t kMostColumns = 60;
  constexpr std::size_t kMostBytes = 4 * kMostColumns;  // of UTF-8
  const std::string safe = safe_text(text.substr(0, kMostBytes));
  std::size_t columns = 0;
  for (std::size_t i = 0; i < safe.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(safe[i]) & 0xc0) != 0x80;
    if (begins && columns++ == kMostColumns) return safe.substr(0, i) + "...";
  }
  return text.size() > kMostBytes ? safe + "..." : safe;
}

std::string age_of(const spool::Listed& listed) {
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  if (listed.changed_at == 0) return "-";
  return duration_text(
      std::max<std::int64_t>(os::realtime_ns() - listed.changed_at * kNsPerSecond, 0));
}

std::vector<std::string> cells_of(const spool::Listed& listed) {
  std::string priority = "-";
  std::string status = "-";
  std::string attempts = "-";
  std::string worker;
  std::string about;
  if (listed.task) {
    priority = fmt::format("{}", listed.task->priority);
    status = listed.task->status;
    attempts = fmt::format("{}/{}", listed.task->attempts, listed.task->max_attempts);
    worker = listed.task->claimed_by;
    about = listed.task->title;
  } else if (listed.completion) {
    const spool::Completion& result = *listed.completion;
    status = result.status;
    about = result.verdict + (result.verdict_reason.empty() ? "" : ": ") + result.verdict_reason;
  } else if (listed.error) {
    status = listed.error->status;
    attempts = fmt::format("{}", listed.error->attempts);
    about = listed.error->error;
  } else {
    status = "broken";
    about = listed.problem;
  }
  return {std::string(to_string(listed.folder)),
          cell(listed.id),
          std::move(priority),
          cell(status),
          std::move(attempts),
          cell(worker),
          age_of(listed),
          cell(about)};
}

// The file as it is, with the keys that the format does not know.
Json file_json(const spool::Listed& listed) {
  if (listed.task) return Json::parse(to_json(*listed.task));
  if (listed.completion) return Json::parse(to_json(*listed.completion));
  if (listed.error) return Json::parse(to_json(*listed.error));
  return nullptr;
}

void add_fields(Table& table, const Json& object, const std::string& prefix) {
  for (const auto& [key, value] : object.items()) {
    const bool is_long = std::find(kLongKeys.begin(), kLongKeys.end(), key) != kLongKeys.end();
    if (prefix.empty() && is_long) continue;
    if (value.is_object()) {
      add_fields(table, value, prefix + key + '.');
    } else {
      table.add({safe_text(prefix + key),
                 safe_text(value.is_string() ? value.get<std::string>() : value.dump())});
    }
  }
}

// A table without its headings.
std::string rows_of(const Table& table) {
  const std::string text = table.text();
  return text.substr(text.find('\n') + 1);
}

std::string joined(const std::vector<std::string>& ids) {
  std::string text;
  for (const std::string& id : ids) text.append(text.empty() ? "" : " ").append(safe_text(id));
  return text;
}

// The value as it is set; nothing if it is not.
Json variable(const char* name) {
  const char* const value = ::secure_getenv(name);
  return value != nullptr ? Json(value) : Json(nullptr);
}

}  // namespace

Json listed_json(const spool::Listed& listed) {
  return {{"folder", to_string(listed.folder)},
          {"id", listed.id},
          {"changed_at", listed.changed_at},
          {"file", file_json(listed)},
          {"problem", listed.problem.empty() ? Json(nullptr) : Json(listed.problem)}};
}

std::string listed_table(const std::vector<spool::Listed>& all) {
  Table table({"folder", "id", ">priority", "status", ">attempts", "worker", ">age", "about"});
  for (const spool::Listed& listed : all) table.add(cells_of(listed));
  return table.text();
}

std::string listed_text(const spool::Listed& listed) {
  Table table({"", ""});
  table.add({"folder", std::string(to_string(listed.folder))});
  table.add({"changed", age_of(listed) + " ago"});
  if (!listed.problem.empty()) table.add({"problem", safe_text(listed.problem)});
  const Json file = file_json(listed);
  add_fields(table, file, "");
  std::string text = rows_of(table);
  for (const std::string_view key : kLongKeys) {
    const std::string value = file.is_object() ? file.value(std::string(key), "") : "";
    if (!value.empty()) text += '\n' + readable(value);
  }
  return text;
}

Json swept_json(const spool::Swept& swept) {
  return {{"recovered", swept.recovered},   {"exhausted", swept.exhausted},
          {"finished", swept.finished},     {"removed_results", swept.results},
          {"removed_errors", swept.errors}, {"removed_temps", swept.temps}};
}

std::string swept_text(const spool::Swept& swept) {
  std::string text;
  const auto add = [&text](const char* what, const std::vector<std::string>& ids) {
    if (!ids.empty()) text += fmt::format("{}: {}\n", what, joined(ids));
  };
  add("wait again", swept.recovered);
  add("failed, no attempt was left", swept.exhausted);
  add("had ended", swept.finished);
  return text + fmt::format("removed {} old results, {} errors and {} temporary files\n",
                            swept.results, swept.errors, swept.temps);
}

void SpoolSurvey::add_work(const std::string& worker, const std::string& task) {
  auto found = std::find_if(workers.begin(), workers.end(),
                            [&](const Worker& each) { return each.name == worker; });
  if (found == workers.end()) found = workers.insert(workers.end(), Worker{worker, {}});
  found->tasks.push_back(task);
}

Json survey_json(const SpoolSurvey& survey) {
  Json json = {{"dir", survey.dir},
               {"exists", survey.is_there},
               {"enabled", survey.environment.enabled},
               {"outbox_retention_days", survey.environment.outbox_retention.count()},
               {"failed_retention_days", survey.environment.failed_retention.count()}};
  for (const char* const name : kVariables) json["environment"][name] = variable(name);
  json["folders"] = Json::object();
  for (const SpoolSurvey::Count& count : survey.counts) {
    json["folders"][std::string(to_string(count.folder))] = {{"files", count.files},
                                                             {"broken", count.problems}};
  }
  json["workers"] = Json::array();
  for (const SpoolSurvey::Worker& worker : survey.workers) {
    json["workers"].push_back({{"worker", worker.name}, {"tasks", worker.tasks}});
  }
  return json;
}

std::string survey_text(const SpoolSurvey& survey) {
  Table table({"", ""});
  table.add({"folder", safe_text(survey.dir) + (survey.is_there ? "" : " (is not there)")});
  table.add({"enabled", survey.environment.enabled ? "true" : "false"});
  table.add({"results stay", fmt::format("{} days", survey.environment.outbox_retention.count())});
  table.add({"errors stay", fmt::format("{} days", survey.environment.failed_retention.count())});
  for (const char* const name : kVariables) {
    const Json value = variable(name);
    table.add({name, value.is_null() ? "not set" : safe_text(value.get<std::string>())});
  }
  for (const SpoolSurvey::Count& count : survey.counts) {
    std::string files = fmt::format("{}", count.files);
    if (count.problems != 0) files += fmt::format(", {} of them broken", count.problems);
    table.add({std::string(to_string(count.folder)), std::move(files)});
  }
  for (const SpoolSurvey::Worker& worker : survey.workers) {
    table.add({"worker", fmt::format("{}: {}", worker.name.empty() ? "no name" : cell(worker.name),
                                     joined(worker.tasks))});
  }
  return rows_of(table);
}

}  // namespace beeline::cli
