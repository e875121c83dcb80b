#include "src/c/task_words.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

#include "src/c/options.h"

namespace beeline::c {

static_assert(kFirstWork <= sizeof(beeline_work));
static_assert(kFirstOutcome <= sizeof(beeline_outcome));

std::vector<beeline_pair> pairs_of(const std::map<std::string, std::string>& map) {
  std::vector<beeline_pair> pairs;
  pairs.reserve(map.size());
  for (const auto& [key, value] : map) pairs.push_back({bytes_of(key), bytes_of(value)});
  return pairs;
}

namespace {

// Reads the fields of one struct of the caller. The first bad one is the result.
class FieldReader {
 public:
  FieldReader(const char* function, const char* argument)
      : function_(function), argument_(argument) {}

  void read(const char* field, beeline_bytes given, std::string& to) {
    if (given.data == nullptr && given.length != 0) return refuse(field, given.length);
    if (given.length != 0) to.assign(static_cast<const char*>(given.data), given.length);
  }
  void read(const char* field, const beeline_pair* given, std::size_t count,
            std::map<std::string, std::string>& to) {
    if (given == nullptr && count != 0) return refuse(field, count);
    for (std::size_t i = 0; i < count; ++i) {
      std::string key;
      std::string value;
      read(field, given[i].key, key);
      read(field, given[i].value, value);
      to.insert_or_assign(std::move(key), std::move(value));
    }
  }
  [[nodiscard]] beeline_code code() const { return code_; }

 private:
  void refuse(const char* field, std::size_t length) {
    if (code_ != BEELINE_OK) return;
    code_ = invalid(function_, {"`", argument_, "->", field, "` has a null pointer and the length ",
                                std::to_string(length), ": give the bytes, or the length 0"});
  }

  const char* function_;
  const char* argument_;
  beeline_code code_ = BEELINE_OK;
};

}  // namespace

beeline_code read_work(const char* function, const beeline_work* given, Task& task) {
  beeline_work known;
  const beeline_code read =
      read_sized(function, "work", given, kFirstWork, beeline_work_init, known);
  if (read != BEELINE_OK) return read;
  FieldReader fields(function, "work");
  fields.read("id", known.id, task.id);
  fields.read("description", known.description, task.description);
  fields.read("context", known.context, task.context);
  fields.read("parent_task", known.parent_task, task.parent_task);
  fields.read("params", known.params, known.param_count, task.params);
  task.timeout = std::chrono::milliseconds(known.timeout_ms);
  task.priority = known.priority;
  return fields.code();
}

beeline_code read_outcome(const char* function, const beeline_outcome* given, TaskResult& result) {
  beeline_outcome known;
  const beeline_code read =
      read_sized(function, "outcome", given, kFirstOutcome, beeline_outcome_init, known);
  if (read != BEELINE_OK) return read;
  FieldReader fields(function, "outcome");
  result.exit_code = known.exit_code;
  fields.read("output", known.output, result.output);
  fields.read("artifacts", known.artifacts, known.artifact_count, result.artifacts);
  fields.read("metadata", known.metadata, known.metadata_count, result.metadata);
  return fields.code();
}

}  // namespace beeline::c
