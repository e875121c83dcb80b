// The JSON of tasks, results and errors.

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <beeline/spool.h>

#include "src/spool/json_scanner.h"
#include "src/spool/json_text.h"

namespace beeline::spool {
namespace {

// Bytes of a file beside its longest texts.
constexpr std::size_t kFormBytes = 1000;
// Unknown values of more bytes are written without blanks, because indentation makes a value of
// many small parts sixty times longer.
constexpr std::size_t kMostIndented = std::size_t{256} << 10;

// A key of a record: a text or a number.
template <typename Record>
struct Field {
  std::string_view key{};
  std::string Record::*text = nullptr;
  std::int64_t Record::*number = nullptr;
};

// In the order of the files.
constexpr auto kTaskFields = std::to_array<Field<Task>>({
    {"id", &Task::id},
    {"title", &Task::title},
    {"description", &Task::description},
    {"epic_id", &Task::epic_id},
    {"parent_id", &Task::parent_id},
    {"sequence_number", nullptr, &Task::sequence_number},
    {"type", &Task::type},
    {"priority", nullptr, &Task::priority},
    {"status", &Task::status},
    {"attempts", nullptr, &Task::attempts},
    {"max_attempts", nullptr, &Task::max_attempts},
    {"last_error", &Task::last_error},
    {"claimed_by", &Task::claimed_by},
    {"claimed_at", nullptr, &Task::claimed_at},
    {"operator", &Task::operator_name},
    {"verdict", &Task::verdict},
    {"verdict_reason", &Task::verdict_reason},
    {"test_mode", &Task::test_mode},
    {"test_scope", &Task::test_scope},
    {"test_command", &Task::test_command},
    {"created_at", nullptr, &Task::created_at},
    {"updated_at", nullptr, &Task::updated_at},
});
constexpr auto kCompletionFields = std::to_array<Field<Completion>>({
    {"task_id", &Completion::task_id},
    {"status", &Completion::status},
    {"verdict", &Completion::verdict},
    {"verdict_reason", &Completion::verdict_reason},
    {"output", &Completion::output},
    {"duration_ms", nullptr, &Completion::duration_ms},
    {"completed_at", nullptr, &Completion::completed_at},
});
constexpr auto kErrorFields = std::to_array<Field<TaskError>>({
    {"task_id", &TaskError::task_id},
    {"status", &TaskError::status},
    {"error", &TaskError::error},
    {"attempts", nullptr, &TaskError::attempts},
    {"last_attempt_at", nullptr, &TaskError::last_attempt_at},
    {"failed_at", nullptr, &TaskError::failed_at},
});

constexpr const auto& fields_of(const Task&) { return kTaskFields; }
constexpr const auto& fields_of(const Completion&) { return kCompletionFields; }
constexpr const auto& fields_of(const TaskError&) { return kErrorFields; }

// A key that comes twice has its last value, at its first place.
void drop_twins(std::vector<Extra>& extras) {
  if (extras.size() < 2) return;
  std::unordered_map<std::string_view, std::size_t> firsts;
  firsts.reserve(extras.size());
  for (std::size_t i = 0; i < extras.size(); ++i) {
    const auto [first, is_new] = firsts.try_emplace(extras[i].first, i);
    // No value is empty, so this marks the later one.
    if (!is_new) extras[first->second].second = std::exchange(extras[i].second, {});
  }
  if (firsts.size() == extras.size()) return;
  std::erase_if(extras, [](const Extra& extra) { return extra.second.empty(); });
}

// Reads the JSON object of a record.
template <typename Record>
class RecordReader {
 public:
  RecordReader(std::string_view json, Record& record) : scanner_(json), record_(record) {}

  [[nodiscard]] bool read() {
    if (scanner_.peek() != '{') {
      return scanner_.refuse_type("the value", scanner_.kind(), "a JSON object");
    }
    if (!scanner_.parts('{', [this] { return read_part(); }) || !scanner_.end()) return false;
    drop_twins(record_.extra);
    return true;
  }
  [[nodiscard]] const std::string& problem() const { return scanner_.problem(); }

 private:
  bool read_part() {
    const auto key = scanner_.key();
    if (!key) return false;
    if (const auto* const field = find(*key)) {
      return field->text != nullptr ? read_text(field->key, record_.*field->text, field)
                                    : read_number(*field);
    }
    if constexpr (requires { record_.metadata; }) {
      if (*key == "metadata") return read_metadata();
    }
    return read_extra(*key, record_.extra);
  }

  // Files have the order of the format, so the search goes on behind the last key.
  const Field<Record>* find(std::string_view key) {
    const auto& all = fields_of(record_);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (next_ == all.size()) next_ = 0;
      const Field<Record>& field = all[next_++];
      if (field.key == key) return &field;
    }
    return nullptr;
  }

  bool refuse(std::string_view key, std::string_view found, std::string_view wanted) {
    return scanner_.refuse_type(fmt::format("\"{}\"", key), found, wanted);
  }
  bool is_null() { return scanner_.peek() == 'n'; }
  bool skip_null() { return scanner_.literal("null"); }

  bool read_text(std::string_view key, std::string& to, const Field<Record>* field) {
    if (is_null()) {
      // The key may have come before.
      to = field != nullptr ? Record{}.*field->text : std::string();
      return skip_null();
    }
    if (scanner_.peek() != '"') return refuse(key, scanner_.kind(), "a text");
    const auto text = scanner_.text();
    if (text) to = *text;
    return text.has_value();
  }

  bool read_number(const Field<Record>& field) {
    std::int64_t& to = record_.*field.number;
    if (is_null()) {
      to = Record{}.*field.number;
      return skip_null();
    }
    constexpr std::string_view kWanted = "a whole number of 64 bits";
    const std::string_view kind = scanner_.kind();
    if (kind != "a number") return refuse(field.key, kind, kWanted);
    const auto number = scanner_.number();
    if (!number) return false;
    const char* const last = number->data() + number->size();
    const auto [end, error] = std::from_chars(number->data(), last, to);
    if (error != std::errc{}) return refuse(field.key, "a larger number", kWanted);
    if (end != last) return refuse(field.key, "a number with a fraction or an exponent", kWanted);
    return true;
  }

  bool read_extra(std::string_view key, std::vector<Extra>& to) {
    auto& [name, json] = to.emplace_back(key, std::string());
    return scanner_.value(json);
  }

  bool read_metadata() {
    record_.metadata = {};
    if (is_null()) return skip_null();
    if (scanner_.peek() != '{') return refuse("metadata", scanner_.kind(), "an object");
    if (!scanner_.parts('{', [this] { return read_metadata_part(); })) return false;
    drop_twins(record_.metadata.extra);
    return true;
  }
  bool read_metadata_part() {
    const auto key = scanner_.key();
    if (!key) return false;
    if (*key == "worktree") return read_text("worktree", record_.metadata.worktree, nullptr);
    if (*key == "dependencies") return read_dependencies();
    return read_extra(*key, record_.metadata.extra);
  }
  bool read_dependencies() {
    auto& all = record_.metadata.dependencies;
    all.clear();
    if (is_null()) return skip_null();
    if (scanner_.peek() != '[') return refuse("dependencies", scanner_.kind(), "an array of texts");
    return scanner_.parts('[', [this, &all] {
      if (scanner_.peek() != '"') {
        return scanner_.refuse_type("a part of \"dependencies\"", scanner_.kind(), "a text");
      }
      const auto id = scanner_.text();
      if (id) all.emplace_back(*id);
      return id.has_value();
    });
  }

  JsonScanner scanner_;
  Record& record_;
  std::size_t next_ = 0;
};

Failure invalid(std::string_view why) {
  return {Code::kInvalidTask, 0, fmt::format("{}: {}", text_of(Code::kInvalidTask), why)};
}

template <typename Record>
Outcome<Record> read(std::string_view json) {
  if (json.size() > kMostFileBytes) {
    return tl::unexpected(
        invalid(fmt::format("it has {} bytes; at most {} are read", json.size(), kMostFileBytes)));
  }
  Outcome<Record> record;
  RecordReader<Record> reader(json, *record);
  if (!reader.read()) return tl::unexpected(invalid(reader.problem()));
  return record;
}

template <typename Record>
void write_fields(ObjectWriter& writer, const Record& record) {
  for (const Field<Record>& field : fields_of(record)) {
    if (field.text != nullptr) {
      writer.text(field.key, record.*field.text);
    } else {
      writer.number(field.key, record.*field.number);
    }
  }
}

void write_extras(ObjectWriter& writer, std::string& out, const std::vector<Extra>& extras) {
  std::size_t bytes = 0;
  for (const auto& [key, json] : extras) bytes += json.size();
  for (const auto& [key, json] : extras) {
    if (bytes <= kMostIndented) {
      writer.raw(key, json);
    } else {
      writer.key(key);
      out += json;
    }
  }
}

void write_metadata(std::string& out, const Metadata& metadata) {
  ObjectWriter writer(out, 1);
  writer.text("worktree", metadata.worktree);
  std::string dependencies = "[";
  for (const std::string& id : metadata.dependencies) {
    if (dependencies.size() > 1) dependencies += ',';
    append_json_string(dependencies, id);
  }
  writer.raw("dependencies", dependencies += ']');
  write_extras(writer, out, metadata.extra);
  writer.end();
}

template <typename Record>
std::string write(const Record& record, std::size_t text_bytes) {
  std::string out;
  out.reserve(kFormBytes + text_bytes);
  ObjectWriter writer(out, 0);
  write_fields(writer, record);
  if constexpr (requires { record.metadata; }) {
    writer.key("metadata");
    write_metadata(out, record.metadata);
  }
  write_extras(writer, out, record.extra);
  writer.end();
  return out += '\n';
}

}  // namespace

Outcome<Task> read_task(std::string_view json) { return read<Task>(json); }
Outcome<Completion> read_completion(std::string_view json) { return read<Completion>(json); }
Outcome<TaskError> read_error(std::string_view json) { return read<TaskError>(json); }

std::string to_json(const Task& task) {
  return write(task, task.title.size() + task.description.size());
}
std::string to_json(const Completion& completion) {
  return write(completion, completion.output.size());
}
std::string to_json(const TaskError& error) { return write(error, error.error.size()); }

}  // namespace beeline::spool
