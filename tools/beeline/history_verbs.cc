// history, log, tail, trace.

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <signal.h>

#include <fmt/format.h>

#include "shm/directory.h"
#include "src/control/history_client.h"
#include "src/os/clock.h"
#include "src/os/event_fd.h"
#include "tools/beeline/chronicle.h"
#include "tools/beeline/history_view.h"
#include "tools/beeline/options.h"
#include "tools/beeline/output.h"
#include "tools/beeline/process_verbs.h"
#include "tools/beeline/signals.h"
#include "tools/beeline/verbs.h"

namespace beeline::cli {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenReads{20};
constexpr std::chrono::milliseconds kBetweenFinds{250};
constexpr std::chrono::milliseconds kBetweenQuestions{1000};

constexpr std::string_view kSwitchOn =
    "`beeline history on` switches it on, with --previews the first bytes of each message too";

std::string_view level_word(const control::HistoryAnswer& answer) {
  return shm::to_string(shm::history_level(static_cast<std::uint64_t>(answer.level)));
}

// ---- history ------------------------------------------------------------------------------------

struct SwitchArguments {
  std::string word;
  bool previews = false;
};

ExitCode switch_history(const Context& context, const SwitchArguments& arguments) {
  if (arguments.previews && arguments.word != "on") {
    return complain(ExitCode::kUsage, "--previews belongs to `beeline history on`");
  }
  std::int32_t level = -1;
  if (arguments.word == "off") level = 0;
  if (arguments.word == "on") level = arguments.previews ? 2 : 1;
  auto client = connect_to_look(context);
  if (!client) return complain(client.error());
  const auto answer = control::ask_history(*client, level);
  if (!answer) return complain(answer.error());
  if (context.json) {
    print_json({{"history", level_word(*answer)}, {"kept", answer->kept}, {"most", answer->most}});
    return ExitCode::kOk;
  }
  const std::string state = answer->level == 0 ? "off" : fmt::format("on, {}", level_word(*answer));
  print(fmt::format("history {}; {} of at most {} histories are kept\n", state, answer->kept,
                    answer->most));
  return ExitCode::kOk;
}

// ---- What the other verbs share -----------------------------------------------------------------

// The names of all agents that the hive or a history knows.
Result<HistoryNames> read_names(control::Client& client, const Chronicle& chronicle) {
  HistoryNames names;
  for (const Chronicler& each : chronicle.chroniclers()) names.add(each.pid, each.name);
  const auto agents = client.list_all();
  if (!agents) return tl::unexpected(agents.error());
  for (const control::ListedAgent& agent : *agents) names.add(agent.pid, agent.name);
  return names;
}

// All that a verb needs that looks once.
struct HistoryLook {
  Chronicle chronicle;
  HistoryNames names;
  bool is_on = false;
};

Result<HistoryLook> look_at_history(const Context& context) {
  auto client = connect_to_look(context);
  if (!client) return tl::unexpected(client.error());
  const auto answer = control::ask_history(*client);
  if (!answer) return tl::unexpected(answer.error());
  HistoryLook look{Chronicle(context.hive), {}, answer->level != 0};
  if (auto found = look.chronicle.find(); !found) return tl::unexpected(found.error());
  auto names = read_names(*client, look.chronicle);
  if (!names) return tl::unexpected(names.error());
  look.names = std::move(*names);
  return look;
}

void remark_complaints(Chronicle& chronicle) {
  for (const std::string& complaint : chronicle.take_complaints()) remark(complaint);
}

ExitCode nothing_recorded(const HistoryLook& look, const std::string& of, ExitCode code) {
  return complain(code, fmt::format("the history has nothing of {}{}", of,
                                    look.is_on ? std::string(": it records from the moment on in "
                                                             "which it was switched on")
                                               : fmt::format(", and is off: {}", kSwitchOn)));
}

// ---- log ----------------------------------------------------------------------------------------

struct LogArguments {
  std::string name;
  bool output = false;
  bool follows = false;
};

ExitCode show_log(const Context& context, const std::string& name) {
  auto look = look_at_history(context);
  if (!look) return complain(look.error());
  std::vector<HistoryLine> lines = look->chronicle.read();
  remark_complaints(look->chronicle);
  std::erase_if(lines, [&](const HistoryLine& line) { return !look->names.means(name, line.pid); });
  if (lines.empty()) {
    return nothing_recorded(*look, fmt::format("\"{}\"", name), ExitCode::kNoAgent);
  }
  Json json = Json::array();
  std::string text;
  for (const HistoryLine& line : lines) {
    if (context.json)
      json.push_back(history_json(line, look->names));
    else
      text += history_text(line, look->names);
  }
  context.json ? print_json(json) : print(text);
  return ExitCode::kOk;
}

// ---- tail ---------------------------------------------------------------------------------------

struct TailArguments {
  HistoryFilter filter;
  std::string rank;
  std::string since;
};

// The time in `--since`, by the clock of rows: 0 means all that is kept, a duration so long ago.
Result<std::int64_t> parse_since(const std::string& text) {
  if (text == "0") return std::numeric_limits<std::int64_t>::min();
  const auto ago = parse_duration(text);
  if (!ago) return tl::unexpected(ago.error());
  return os::coarse_ns() - ago->count();
}

// Follows the histories until a signal, the timeout, or the end of the hive.
class Tail {
 public:
  Tail(const Context& context, const HistoryFilter& filter, control::Client& client,
       Signals& signals)
      : context_(context),
        filter_(filter),
        client_(client),
        signals_(signals),
        chronicle_(context.hive) {}

  ExitCode run() {
    if (auto found = chronicle_.find(); !found) return complain(found.error());
    if (!filter_.since_ns) chronicle_.skip_all();
    if (auto named = name_all(); !named) return complain(named.error());
    const auto begin = steady_clock::now();
    auto next_find = begin + kBetweenFinds;
    auto next_question = begin + kBetweenQuestions;
    for (;;) {
      if (!show()) return ExitCode::kOk;
      if (os::wait_readable(signals_.fd(), kBetweenReads)) return ExitCode::kOk;
      const auto now = steady_clock::now();
      if (context_.timeout && now - begin >= *context_.timeout) return ExitCode::kOk;
      if (now >= next_find) {
        if (auto found = chronicle_.find(); !found) return complain(found.error());
        next_find = now + kBetweenFinds;
      }
      if (now < next_question) continue;
      if (auto named = name_all(); !named) return complain(named.error());
      next_question = now + kBetweenQuestions;
    }
  }

 private:
  Result<void> name_all() {
    if (client_.closed()) {
      if (auto again = client_.reconnect(); !again) return again;
    }
    auto names = read_names(client_, chronicle_);
    if (!names && client_.closed()) return {};  // it is restarted just now, or ends
    if (!names) return tl::unexpected(names.error());
    names_ = std::move(*names);
    return {};
  }

  // False when the output takes nothing more.
  bool show() {
    const std::vector<HistoryLine> lines = chronicle_.read();
    remark_complaints(chronicle_);
    for (const HistoryLine& line : lines) {
      if (names_.of(line.pid) != line.name) names_.add(line.pid, line.name);
    }
    for (const HistoryLine& line : lines) {
      if (!filter_.takes(line, names_)) continue;
      const bool printed = context_.json ? print_json(history_json(line, names_))
                                         : print(history_text(line, names_));
      if (!printed) return false;
    }
    return true;
  }

  const Context& context_;
  const HistoryFilter& filter_;
  control::Client& client_;
  Signals& signals_;
  Chronicle chronicle_;
  HistoryNames names_;
};

ExitCode tail(const Context& context, TailArguments& arguments) {
  if (!arguments.rank.empty()) {
    const auto rank = parse_rank(arguments.rank);
    if (!rank) return complain(rank.error());
    arguments.filter.rank = *rank;
  }
  if (!arguments.since.empty()) {
    const auto since = parse_since(arguments.since);
    if (!since) return complain(since.error());
    arguments.filter.since_ns = *since;
  }
  auto client = connect_to_look(context);
  if (!client) return complain(client.error());
  const auto answer = control::ask_history(*client);
  if (!answer) return complain(answer.error());
  if (answer->level == 0) {
    return complain(ExitCode::kError, fmt::format("the history is off: {}", kSwitchOn));
  }
  auto signals = Signals::block({SIGINT, SIGTERM});
  if (!signals) return complain(signals.error());
  return Tail(context, arguments.filter, *client, *signals).run();
}

// ---- trace --------------------------------------------------------------------------------------

bool is_trace(const std::string& text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

CLI::Validator is_traceable() {
  const auto check = [](const std::string& text) -> std::string {
    if (is_trace(text) || parse_id(text)) return "";
    return fmt::format(
        "\"{}\" is neither the id of a message, like 3:21, nor the 32 hexadecimal "
        "digits of a trace",
        text);
  };
  return {check, ""};
}

ExitCode show_trace(const Context& context, const std::string& id) {
  auto look = look_at_history(context);
  if (!look) return complain(look.error());
  const std::vector<HistoryLine> lines = look->chronicle.read();
  remark_complaints(look->chronicle);
  const bool by_trace = is_trace(id);
  const auto found = trace_of(lines, by_trace ? 0 : *parse_id(id), by_trace ? id : "");
  if (found.empty()) return nothing_recorded(*look, id, ExitCode::kError);
  std::uint64_t lost = 0;
  for (const HistoryLine& line : lines) lost += line.lost;
  if (lost != 0) {
    remark(
        fmt::format("{} rows of all histories were written over before this look, and may "
                    "belong to this trace",
                    lost));
  }
  Json json = Json::array();
  std::string text;
  for (const TraceLine& each : found) {
    if (!context.json) {
      text += history_text(each.line, look->names, each.depth);
      continue;
    }
    json.push_back(history_json(each.line, look->names));
    json.back()["depth"] = each.depth;
  }
  context.json ? print_json(json) : print(text);
  return ExitCode::kOk;
}

void add_log(CLI::App& app, Context& context) {
  auto of_log = std::make_shared<LogArguments>();
  auto* log_verb = app.add_subcommand("log", "Print what an agent sent and received, or wrote");
  log_verb->add_option("NAME", of_log->name, "Name or pid of the agent")
      ->required()
      ->check(is_agent());
  auto* output = log_verb->add_flag("--output", of_log->output,
                                    "The stdout and stderr of an agent that was spawned");
  log_verb->add_flag("--follow", of_log->follows, "Go on until it ends")->needs(output);
  log_verb->footer(
      "Examples:\n"
      "  beeline log worker\n"
      "  beeline log worker --json | jq '.[] | select(.event == \"rejected\")'\n"
      "  beeline log worker --output --follow\n"
      "All lives of the agent that the history still has, also after its end. Rows that were\n"
      "written over are counted. Exits with 4 if the history has nothing of it.");
  log_verb->callback([&context, of_log] {
    context.exit = of_log->output ? print_output(context, of_log->name, of_log->follows)
                                  : show_log(context, of_log->name);
  });
}

}  // namespace

void add_history_verbs(CLI::App& app, Context& context) {
  auto to_switch = std::make_shared<SwitchArguments>();
  auto* history_verb = app.add_subcommand("history", "Say, or set, whether agents record messages");
  history_verb->add_option("STATE", to_switch->word, "on or off; only says how it is if not given")
      ->check(CLI::IsMember({"on", "off"}));
  history_verb->add_flag("--previews", to_switch->previews,
                         "Record the first 200 bytes of each payload, too");
  history_verb->footer(
      "Examples:\n"
      "  beeline history on\n"
      "  beeline history on --previews\n"
      "  beeline history off\n"
      "Each agent keeps its last 1024 rows about messages that it sent, and 1024 about those that\n"
      "it received. They outlive it. Only the user of the hive and root may switch.");
  history_verb->callback(
      [&context, to_switch] { context.exit = switch_history(context, *to_switch); });

  add_log(app, context);

  auto arguments = std::make_shared<TailArguments>();
  auto* tail_verb = app.add_subcommand("tail", "Follow the messages of all agents as they go");
  tail_verb->add_option("--from", arguments->filter.from, "Only from this agent")
      ->check(is_agent());
  tail_verb->add_option("--to", arguments->filter.to, "Only to this agent")->check(is_agent());
  tail_verb->add_option("--type", arguments->filter.type, "Only of this type")
      ->check(is_label("type"));
  tail_verb->add_option("--rank", arguments->rank, "Only of this rank");
  tail_verb->add_option("--since", arguments->since,
                        "First the rows of this time, like 10m, or with 0 all that are kept; "
                        "without it only new ones");
  tail_verb->footer(
      "Examples:\n"
      "  beeline tail\n"
      "  beeline tail --to worker --type task_request\n"
      "  beeline tail --since 0 --rank critical\n"
      "  beeline tail --json --timeout 10s > events\n"
      "Ends with 0 at Ctrl-C or when --timeout is over. It holds nobody up: rows that an agent\n"
      "writes faster than they are read are counted and lost. With --json each row is one line.");
  tail_verb->callback([&context, arguments] { context.exit = tail(context, *arguments); });

  auto id = std::make_shared<std::string>();
  auto* trace_verb = app.add_subcommand("trace", "Follow a message and all that came of it");
  trace_verb->add_option("ID", *id, "Id of a message, or the 32 digits of a trace")
      ->required()
      ->check(is_traceable());
  trace_verb->footer(
      "Examples:\n"
      "  beeline trace 3:21\n"
      "  beeline trace 0af7651916cd43dd8448eb211c80319c\n"
      "First the messages that led to it, then the message, then those that it caused, each\n"
      "further to the right than its cause. Works after its agents have ended. Exits with 1 if\n"
      "the history has nothing of it.");
  trace_verb->callback([&context, id] { context.exit = show_trace(context, *id); });
}

}  // namespace beeline::cli
