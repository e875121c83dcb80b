// spool put: tasks from arguments, from a JSON file or from JSON lines.

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/beeline/line_reader.h"
#include "tools/beeline/output.h"
#include "tools/beeline/spool_options.h"
#include "tools/beeline/spool_verbs.h"

namespace beeline::cli {
namespace {

struct PutArguments {
  SpoolArguments spool;
  spool::Task task;
  std::string description;
  std::string metadata;
  std::string file;
  bool has_title = false;
  bool describes = false;  // one of kDescribing was given
};

constexpr std::array kDescribing = {"TITLE",  "--description",  "--id",      "--priority",
                                    "--type", "--max-attempts", "--metadata"};

// Puts one task and prints its id. `where` stands in front of an error.
ExitCode put_task(const Context& context, spool::Spool& spool, spool::Task task,
                  std::string_view where = {}) {
  const auto id = spool.put(std::move(task));
  if (!id) {
    // The command line is right where a file is wrong.
    const bool is_of_file = !where.empty() && id.error().code == spool::Code::kInvalidTask;
    return is_of_file ? complain(ExitCode::kError, id.error(), where) : complain(id.error(), where);
  }
  const bool told = context.json ? print_json({{"id", *id}}) : print(*id + '\n');
  return told ? ExitCode::kOk : ExitCode::kError;
}

ExitCode put_json(const Context& context, spool::Spool& spool, const std::string& json,
                  std::string_view where) {
  auto task = spool::read_task(json);
  if (!task) return complain(ExitCode::kError, task.error(), where);
  return put_task(context, spool, std::move(*task), where);
}

bool is_blank(const std::string& line) {
  return line.find_first_not_of(" \t\r") == std::string::npos;
}

// A part of a task can be an object, too.
bool is_task(const std::string& line) {
  const auto object = nlohmann::json::parse(line, nullptr, false);
  return object.is_object() && (object.contains("id") || object.contains("title"));
}

// A file with tasks: one task of any layout, or a task on each line.
class TaskFile {
 public:
  TaskFile(const Context& context, spool::Spool& spool, std::string name, LineReader lines)
      : context_(context), spool_(spool), name_(std::move(name)), lines_(std::move(lines)) {}

  ExitCode put() {
    std::optional<Line> line = next();
    if (line && !nlohmann::json::accept(line->text)) line = put_begun(std::move(*line));
    for (; line; line = next()) put_line(*line);
    return exit_;
  }

 private:
  struct Line {
    std::string text;
    std::size_t number = 0;
  };

  // The next line that is not blank. Nothing after the last, or if it cannot be read.
  std::optional<Line> next() {
    for (;;) {
      auto line = lines_.next();
      if (!line) note(complain(line.error()));
      if (!line || !*line) return std::nullopt;
      ++number_;
      if (!is_blank(**line)) return Line{std::move(**line), number_};
    }
  }

  // The first line is no JSON: a task begins there that goes on in the next lines, or the line is
  // broken. Reads all lines before it decides, so that no part of a task is taken for a task.
  // Returns the next line, if they were too many for one task.
  std::optional<Line> put_begun(Line first) {
    std::vector<Line> lines;
    std::string whole;
    std::optional<Line> line = std::move(first);
    for (; line && whole.size() <= spool::kMostFileBytes; line = next()) {
      whole += line->text + '\n';
      lines.push_back(std::move(*line));
    }
    if (exit_ != ExitCode::kOk) return std::nullopt;
    const bool has_tasks = !nlohmann::json::accept(whole) &&
                           std::any_of(lines.begin(), lines.end(),
                                       [](const Line& each) { return is_task(each.text); });
    if (has_tasks || line) {
      for (const Line& each : lines) put_line(each);
    } else {
      note(put_json(context_, spool_, whole, name_ + ": "));
    }
    return line;
  }

  void put_line(const Line& line) {
    note(put_json(context_, spool_, line.text, fmt::format("line {}: ", line.number)));
  }

  // The first failure is the exit code.
  void note(ExitCode exit) {
    if (exit_ == ExitCode::kOk) exit_ = exit;
  }

  const Context& context_;
  spool::Spool& spool_;
  std::string name_;
  LineReader lines_;
  std::size_t number_ = 0;
  ExitCode exit_ = ExitCode::kOk;
};

ExitCode put_file(const Context& context, spool::Spool& spool, const std::string& file) {
  auto lines = LineReader::open(file == "-" ? file : '@' + file);
  if (!lines) return complain(lines.error());
  return TaskFile(context, spool, file == "-" ? "stdin" : file, std::move(*lines)).put();
}

// The task that the arguments describe.
spool::Outcome<spool::Task> task_of(const PutArguments& arguments, std::string description) {
  spool::Task task = arguments.task;
  task.description = std::move(description);
  if (arguments.metadata.empty()) return task;
  auto read = spool::read_task(fmt::format("{{\"metadata\":{}}}", arguments.metadata));
  if (!read) return tl::unexpected(std::move(read.error()));
  task.metadata = std::move(read->metadata);
  return task;
}

ExitCode put_tasks(const Context& context, const PutArguments& arguments) {
  const bool is_file = !arguments.file.empty();
  if (is_file ? arguments.describes : !arguments.has_title) {
    return complain(ExitCode::kUsage,
                    "put needs the TITLE of a task, or --file and nothing that "
                    "describes a task");
  }
  std::string description;
  if (!is_file) {
    auto text = read_body(arguments.description);
    if (!text) return complain(text.error());
    description = std::move(*text);
  }
  auto task = task_of(arguments, std::move(description));
  if (!task) return complain(task.error(), "--metadata: ");
  auto spool = arguments.spool.open();
  if (!spool) return complain(spool.error());
  const ExitCode exit = is_file ? put_file(context, *spool, arguments.file)
                                : put_task(context, *spool, std::move(*task));
  tell_remarks(*spool);
  return exit;
}

}  // namespace

void add_spool_put_verb(CLI::App& spool, Context& context) {
  auto arguments = std::make_shared<PutArguments>();
  auto* verb = spool.add_subcommand("put", "Put a task, or several, into the inbox");
  spool::Task& task = arguments->task;
  verb->add_option("TITLE", task.title, "Its title");
  verb->add_option("--file", arguments->file,
                   "Tasks as JSON, in place of all that describes one: a task in the form of its "
                   "file, or one on each line; - for stdin");
  verb->add_option("--description", arguments->description,
                   "Its text; - for stdin, @file for a file");
  verb->add_option("--id", task.id, "Its id, which names its file; task_TIME if not given");
  verb->add_option("--priority", task.priority, "Higher goes first")->capture_default_str();
  verb->add_option("--type", task.type,
                   "feature, bug, refactor, test, docs, research, fix or other")
      ->capture_default_str();
  verb->add_option("--max-attempts", task.max_attempts, "It is run so often at most")
      ->capture_default_str();
  verb->add_option("--metadata", arguments->metadata,
                   "A JSON object, like '{\"worktree\":\"/src\",\"dependencies\":[\"task_1\"]}'");
  add_spool_dir(*verb, arguments->spool);
  add_spool_sync(*verb, arguments->spool);
  verb->footer(
      "Examples:\n"
      "  beeline spool put \"Fix the parser\" --priority 5 --description @notes.md\n"
      "  beeline spool put --file task.json\n"
      "  jq -c '.[]' tasks.json | beeline spool put --file -\n"
      "Prints the id of each task. Makes the folder if it is not there. A key that is missing in "
      "a\n"
      "JSON task has its default. Each line of several is put by itself, as soon as it is read: a\n"
      "bad line is an error with its number, and the others go on. Exits with 3 if a task of the\n"
      "id waits or is being worked on, with 2 if an option is wrong, with 1 if a file is, with 7\n"
      "if the rights forbid it; with several failures the first one counts.");
  verb->callback([&context, arguments, verb] {
    const auto is_given = [verb](const char* name) { return verb->count(name) != 0; };
    arguments->has_title = is_given("TITLE");
    arguments->describes = std::any_of(kDescribing.begin(), kDescribing.end(), is_given);
    context.exit = put_tasks(context, *arguments);
  });
}

}  // namespace beeline::cli
