#include "src/c/spool_words.h"

#include <chrono>
#include <utility>

#include "src/c/options.h"

namespace beeline::c {
namespace {

using std::chrono::ceil;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// The size of the struct in the first version of this interface.
constexpr std::size_t kFirstSpoolOptions = 80;
static_assert(kFirstSpoolOptions <= sizeof(beeline_spool_options));

beeline_code check_number(const char* function, const char* field, std::int64_t value,
                          std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return BEELINE_OK;
  return invalid(function,
                 {"`options->", field, "` is ", std::to_string(value), ", it must be from ",
                  std::to_string(least), " to ", std::to_string(most)});
}

beeline_code check_numbers(const char* function, const beeline_spool_options& given) {
  const struct {
    const char* field;
    std::int64_t value;
    std::int64_t least;
    std::int64_t most;
  } numbers[] = {
      {"sync", given.sync, BEELINE_SYNC_NONE, BEELINE_SYNC_FULL},
      {"order", given.order, BEELINE_CLAIM_PRIORITY, BEELINE_CLAIM_FIFO},
      {"process", given.process, -1, INT32_MAX},
      {"poll_every_ns", given.poll_every_ns, 1'000'000, INT64_MAX},
      {"heartbeat_patience_ns", given.heartbeat_patience_ns, 0, INT64_MAX},
      {"temp_retention_ns", given.temp_retention_ns, 0, INT64_MAX},
  };
  for (const auto& number : numbers) {
    const beeline_code checked =
        check_number(function, number.field, number.value, number.least, number.most);
    if (checked != BEELINE_OK) return checked;
  }
  return BEELINE_OK;
}

// The first line of a record in JSON is the text of its id.
std::string quoted(std::string_view text) {
  constexpr std::string_view kBefore = "{\n  \"task_id\": ";
  spool::TaskError record;
  record.task_id = text;
  const std::string json = to_json(record);
  return json.substr(kBefore.size(), json.find(",\n") - kBefore.size());
}

// A record without the line end after it.
template <typename Record>
std::string record_json(const Record& record) {
  std::string json = to_json(record);
  json.pop_back();
  return json;
}

// `[a, b]`
template <typename Items, typename Convert>
std::string list_json(const Items& items, const Convert& convert) {
  std::string json = "[";
  for (const auto& item : items) {
    if (json.size() > 1) json += ", ";
    json += convert(item);
  }
  return json += ']';
}

const char* word_of(bool value) { return value ? "true" : "false"; }

const char* word_of(spool::Sync sync) {
  switch (sync) {
    case spool::Sync::kNone:
      return "none";
    case spool::Sync::kData:
      return "data";
    case spool::Sync::kFull:
      return "full";
  }
  return "unknown";
}

}  // namespace

beeline_spool_code spool_failed(spool::Failure failure) {
  const spool::Code code = failure.code;
  (void)failed(Error{ErrorCode::kSystem, failure.sys_errno, std::move(failure.text)});
  switch (code) {
    case spool::Code::kMailboxDir:
      return BEELINE_SPOOL_MAILBOX_DIR;
    case spool::Code::kTaskExists:
      return BEELINE_SPOOL_TASK_EXISTS;
    case spool::Code::kNoTasks:
      return BEELINE_SPOOL_NO_TASKS;
    case spool::Code::kTaskNotFound:
      return BEELINE_SPOOL_TASK_NOT_FOUND;
    case spool::Code::kInvalidTask:
      return BEELINE_SPOOL_INVALID_TASK;
  }
  return BEELINE_SPOOL_MAILBOX_DIR;
}

beeline_spool_code spool_code_of(beeline_code code) {
  if (code == BEELINE_OK) return BEELINE_SPOOL_OK;
  return code == BEELINE_INVALID ? BEELINE_SPOOL_INVALID_ARGUMENT : BEELINE_SPOOL_NO_MEMORY;
}

beeline_code read_options(const char* function, const beeline_spool_options* given,
                          spool::Options& options) {
  beeline_spool_options known;
  beeline_code read =
      read_sized(function, "options", given, kFirstSpoolOptions, beeline_spool_options_init, known);
  if (read == BEELINE_OK) read = check_numbers(function, known);
  if (read != BEELINE_OK) return read;
  options.dir = text_of(known.dir, BEELINE_TEXT);
  options.worker = text_of(known.worker, BEELINE_TEXT);
  options.sync = static_cast<spool::Sync>(known.sync);
  options.order = static_cast<spool::ClaimOrder>(known.order);
  options.shared = known.shared;
  options.read_only = known.read_only;
  options.process = known.process;
  const auto rounded = [](std::int64_t ns) { return ceil<seconds>(nanoseconds(ns)); };
  options.poll_every = ceil<std::chrono::milliseconds>(nanoseconds(known.poll_every_ns));
  options.heartbeat_patience = rounded(known.heartbeat_patience_ns);
  if (known.outbox_retention_ns >= 0) options.outbox_retention = rounded(known.outbox_retention_ns);
  if (known.failed_retention_ns >= 0) options.failed_retention = rounded(known.failed_retention_ns);
  options.temp_retention = rounded(known.temp_retention_ns);
  return BEELINE_OK;
}

std::string json_of(const spool::Options& options) {
  std::string json = "{";
  const auto add = [&json](const char* key, const std::string& value) {
    if (json.size() > 1) json += ',';
    json.append("\n  \"").append(key).append("\": ").append(value);
  };
  const auto number = [&](const char* key, std::int64_t value) { add(key, std::to_string(value)); };
  add("dir", quoted(options.dir));
  add("worker", quoted(options.worker));
  add("sync", quoted(word_of(options.sync)));
  add("order", quoted(options.order == spool::ClaimOrder::kFifo ? "fifo" : "priority"));
  add("shared", word_of(options.shared));
  add("read_only", word_of(options.read_only));
  number("process", options.process);
  number("poll_every_ms", options.poll_every.count());
  number("heartbeat_patience_s", options.heartbeat_patience.count());
  number("outbox_retention_s", options.outbox_retention.value_or(seconds(0)).count());
  number("failed_retention_s", options.failed_retention.value_or(seconds(0)).count());
  number("temp_retention_s", options.temp_retention.count());
  add("enabled", word_of(spool::Environment::read().enabled));
  return json += "\n}";
}

std::string json_of(const std::vector<std::string>& ids) { return list_json(ids, quoted); }

std::string json_of(const spool::Listed& listed) {
  std::string json = "{\"id\": " + quoted(listed.id) +
                     ", \"folder\": " + quoted(to_string(listed.folder)) +
                     ", \"changed_at\": " + std::to_string(listed.changed_at);
  if (listed.task) json += ", \"task\": " + record_json(*listed.task);
  if (listed.completion) json += ", \"completion\": " + record_json(*listed.completion);
  if (listed.error) json += ", \"error\": " + record_json(*listed.error);
  if (!listed.problem.empty()) json += ", \"problem\": " + quoted(listed.problem);
  return json += '}';
}

std::string json_of(const std::vector<spool::Listed>& files) {
  return list_json(files, [](const spool::Listed& file) { return json_of(file); });
}

std::string json_of(const spool::Swept& swept) {
  return "{\"recovered\": " + json_of(swept.recovered) +
         ", \"exhausted\": " + json_of(swept.exhausted) +
         ", \"finished\": " + json_of(swept.finished) +
         ", \"results\": " + std::to_string(swept.results) +
         ", \"errors\": " + std::to_string(swept.errors) +
         ", \"temps\": " + std::to_string(swept.temps) + "}";
}

}  // namespace beeline::c

// All the words are literals, which end with a zero byte.
const char* beeline_spool_code_name(beeline_spool_code code) {
  namespace spool = beeline::spool;
  if (code == BEELINE_SPOOL_OK) return "ok";
  if (code == BEELINE_SPOOL_INVALID_ARGUMENT) return "invalid";
  if (code == BEELINE_SPOOL_NO_MEMORY) return "no_memory";
  if (code < BEELINE_SPOOL_MAILBOX_DIR || code > BEELINE_SPOOL_INVALID_TASK) return "unknown";
  return name_of(static_cast<spool::Code>(code - BEELINE_SPOOL_MAILBOX_DIR)).data();
}
