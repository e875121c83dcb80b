// dlq: ls, show, requeue, purge.

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <beeline/agent.h>

#include "shm/identity.h"
#include "src/control/agent_info.h"
#include "src/control/letters_client.h"
#include "src/control/trace_text.h"
#include "tools/beeline/letters_view.h"
#include "tools/beeline/output.h"
#include "tools/beeline/session.h"
#include "tools/beeline/verbs.h"

namespace beeline::cli {
namespace {

struct LetterArguments {
  std::string id;
  std::string agent;
  std::string to;
  bool raw = false;
  bool all = false;
};

// ---- Finding ------------------------------------------------------------------------------------

Result<MessageId> read_id(const LetterArguments& arguments) {
  if (const auto id = parse_id(arguments.id)) return *id;
  return fail(ErrorCode::kInvalid,
              fmt::format("\"{}\" is no id of a message: write it as `beeline dlq ls` does, for "
                          "example 3:21",
                          arguments.id));
}

// The one letter that the arguments select.
Result<LetterView> find_letter(control::Client& client, const Context& context,
                               const LetterArguments& arguments) {
  const auto id = read_id(arguments);
  if (!id) return tl::unexpected(id.error());
  auto found = find_letters(client, context.hive, arguments.agent);
  if (!found) return tl::unexpected(std::move(found.error()));
  auto& letters = found->list;
  std::erase_if(letters, [&](const LetterView& letter) { return letter.line.id != *id; });
  if (letters.empty() && found->gap) return tl::unexpected(std::move(*found->gap));
  if (letters.empty()) {
    return fail(ErrorCode::kInvalid,
                fmt::format("message {} is no dead letter{}{}: see `beeline dlq ls`", arguments.id,
                            arguments.agent.empty() ? "" : " of ", arguments.agent));
  }
  if (letters.size() == 1) return std::move(letters.front());
  std::string receivers;
  for (const LetterView& letter : letters) {
    receivers +=
        fmt::format("{}{} (pid {})", receivers.empty() ? "" : ", ", letter.agent, letter.to);
  }
  return fail(ErrorCode::kInvalid,
              fmt::format("{} agents hold copies of message {}: name the agent with AGENT, one of "
                          "{}",
                          letters.size(), arguments.id, receivers));
}

// The same, for an order to an agent. An agent that is named and has not ended knows itself
// whether it has the letter. It is asked without a look, because users other than the hive's may
// not look.
Result<LetterView> name_letter(control::Client& client, const Context& context,
                               const LetterArguments& arguments) {
  const auto id = read_id(arguments);
  if (!id) return tl::unexpected(id.error());
  if (arguments.agent.empty() || !arguments.to.empty()) {
    auto letter = find_letter(client, context, arguments);
    if (!letter && letter.error().code == ErrorCode::kDenied && arguments.to.empty()) {
      letter.error().text += "; the user of its agent names that: ID AGENT";
    }
    return letter;
  }
  const auto agents = client.list_all();
  if (!agents) return tl::unexpected(agents.error());
  const std::vector<AgentInfo> all = control::infos_of(*agents);
  const AgentInfo* found = control::find_agent(all, arguments.agent, ::geteuid());
  if (found == nullptr || found->state == State::kDead) {
    return find_letter(client, context, arguments);
  }
  LetterView letter;
  letter.to = found->pid;
  letter.agent = found->name;
  letter.line.id = *id;
  return letter;
}

std::string agent_text(const LetterView& letter) {
  return letter.agent + (letter.held ? " (ended)" : "");
}

Json letter_json(const LetterView& letter) {
  const InboxLine& line = letter.line;
  return {{"id", id_text(line.id)},
          {"agent", letter.agent},
          {"to", letter.to},
          {"held_by", letter.held ? "coordinator" : "agent"},
          {"from", shm::pid_of_message(line.id)},
          {"from_name", line.from},
          {"type", line.type},
          {"channel", line.channel},
          {"rank", line.rank},
          {"reason", line.reason},
          {"attempts", line.attempts},
          {"bytes", line.bytes},
          {"kept_bytes", letter.kept},
          {"age_ms", line.age_ms},
          {"reply_to", line.reply_to != 0 ? Json(id_text(line.reply_to)) : Json(nullptr)},
          {"preview", line.preview}};
}

std::string age_text(const InboxLine& line) {
  return fmt::format("{:.1f} s", static_cast<double>(line.age_ms) / 1e3);
}

// ---- ls, show -----------------------------------------------------------------------------------

void print_letters(const Context& context, const std::vector<LetterView>& letters) {
  if (context.json) {
    Json json = Json::array();
    for (const LetterView& letter : letters) json.push_back(letter_json(letter));
    print_json(json);
    return;
  }
  Table table({"id", "agent", "from", "type", "reason", ">attempts", ">bytes", ">age", "body"});
  for (const LetterView& letter : letters) {
    const InboxLine& line = letter.line;
    table.add({id_text(line.id), agent_text(letter), line.from, line.type, line.reason,
               fmt::format("{}", line.attempts), fmt::format("{}", line.bytes), age_text(line),
               line.preview});
  }
  print(table.text());
}

// Lists the letters that can be read, even if others cannot.
ExitCode list(const Context& context, const LetterArguments& arguments) {
  auto client = connect_to_look(context);
  if (!client) return complain(client.error());
  const auto letters = find_letters(*client, context.hive, arguments.agent);
  if (!letters) return complain(letters.error());
  if (!letters->gap || !letters->list.empty()) print_letters(context, letters->list);
  return letters->gap ? complain(*letters->gap) : ExitCode::kOk;
}

std::string letter_text(const LetterView& letter, std::string_view payload) {
  const InboxLine& line = letter.line;
  Table table({"", ""});
  table.add({"id", id_text(line.id)});
  table.add({"agent", fmt::format("{}, pid {}", agent_text(letter), letter.to)});
  table.add({"from", fmt::format("{}, pid {}", line.from, shm::pid_of_message(line.id))});
  table.add({"reason", line.reason});
  table.add({"attempts", fmt::format("{}", line.attempts)});
  table.add({"type", line.type});
  table.add({"channel", line.channel});
  table.add({"rank", fmt::format("{}", line.rank)});
  table.add({"reply to", id_text(line.reply_to)});
  table.add({"age", age_text(line)});
  std::string bytes = fmt::format("{}", line.bytes);
  if (letter.kept < line.bytes) bytes += fmt::format(", the first {} are kept", letter.kept);
  table.add({"bytes", bytes});
  const std::string text = table.text();
  return text.substr(text.find('\n') + 1) + '\n' + readable(payload);  // it has no headings
}

ExitCode show(const Context& context, const LetterArguments& arguments) {
  auto client = connect_to_look(context);
  if (!client) return complain(client.error());
  const auto letter = find_letter(*client, context, arguments);
  if (!letter) return complain(letter.error());
  const auto payload = read_letter(*client, context.hive, *letter);
  if (!payload) return complain(payload.error());
  if (arguments.raw) {
    return print(*payload) ? ExitCode::kOk : ExitCode::kError;
  }
  if (context.json) {
    Json json = letter_json(*letter);
    set_body(json, *payload);
    print_json(json);
  } else {
    print(letter_text(*letter, *payload));
  }
  return ExitCode::kOk;
}

// ---- requeue ------------------------------------------------------------------------------------

// Sends a letter that the coordinator holds to another agent, then drops the letter.
ExitCode send_on(const Context& context, control::Client& client, const LetterView& letter,
                 const std::string& to) {
  if (letter.kept < letter.line.bytes) {
    return complain(
        ExitCode::kError,
        fmt::format(
            "of the {} bytes of {} the first {} were kept: sending them on would pass off a "
            "part as the whole; take them with `beeline dlq show {} --raw`",
            letter.line.bytes, id_text(letter.line.id), letter.kept, id_text(letter.line.id)));
  }
  const auto whole = control::read_kept_letter(client, {letter.line.id, letter.to});
  if (!whole) return complain(whole.error());
  AttachOptions attach_as = attach_options(context);
  attach_as.role = "agent";
  attach_as.temporary = true;
  attach_as.max_hops = std::numeric_limits<std::uint16_t>::max();  // the receiver has its own limit
  auto agent = attach(context, attach_as);
  if (!agent) return complain(agent.error());
  const auto peer = agent->peer(to);
  if (!peer) return complain(peer.error());
  SendOptions options;
  options.rank = whole->rank;
  options.type = whole->type;
  options.channel = whole->channel;
  options.reply_to = whole->reply_to;
  options.cause = whole->cause;
  options.trace = control::parse_trace(whole->trace).value_or(TraceContext{});
  options.hops = whole->hops;
  const Deadline deadline = context.timeout ? after(*context.timeout) : Deadline::min();
  const SendResult sent = agent->send_until(*peer, whole->payload, deadline, options);
  if (!sent) return complain(sent, to);
  if (context.json) {
    print_json({{"id", id_text(letter.line.id)}, {"to", to}, {"sent_as", id_text(sent.id)}});
  } else {
    print(fmt::format("sent {} to {} as {}\n", id_text(letter.line.id), to, id_text(sent.id)));
  }
  const auto purged = control::ask_letters(
      client, {0, std::string(control::kPurgeLetters), letter.line.id, letter.to});
  return purged ? ExitCode::kOk : complain(purged.error());
}

ExitCode requeue(const Context& context, const LetterArguments& arguments) {
  auto client = connect_to_look(context);
  if (!client) return complain(client.error());
  const auto letter = name_letter(*client, context, arguments);
  if (!letter) return complain(letter.error());
  if (letter->held && arguments.to.empty()) {
    return complain(ExitCode::kUsage,
                    fmt::format("{}, the receiver of message {}, has ended for good: name another "
                                "receiver with --to NAME",
                                letter->agent, arguments.id));
  }
  if (letter->held) return send_on(context, *client, *letter, arguments.to);
  if (!arguments.to.empty()) {
    return complain(ExitCode::kUsage,
                    fmt::format("--to is only for letters to agents that have ended for good; "
                                "message {} goes back to {}, leave --to out",
                                arguments.id, letter->agent));
  }
  const auto done = control::ask_letters(
      *client, {letter->to, std::string(control::kRequeueLetters), letter->line.id, 0});
  if (!done) return complain(done.error());
  if (context.json) {
    print_json({{"id", id_text(letter->line.id)}, {"agent", letter->agent}});
  } else {
    print(fmt::format("requeued {} for {}\n", id_text(letter->line.id), letter->agent));
  }
  return ExitCode::kOk;
}

// ---- purge --------------------------------------------------------------------------------------

ExitCode report_purged(const Context& context, std::uint64_t count, ExitCode code) {
  if (context.json) {
    print_json({{"purged", count}});
  } else {
    print(fmt::format("purged {}\n", count));
  }
  return code;
}

ExitCode purge_one(const Context& context, const LetterArguments& arguments) {
  auto client = connect_to_look(context);
  if (!client) return complain(client.error());
  const auto letter = name_letter(*client, context, arguments);
  if (!letter) return complain(letter.error());
  control::LettersRequest request;
  request.what = control::kPurgeLetters;
  request.id = letter->line.id;
  (letter->held ? request.of : request.to) = letter->to;
  const auto count = control::ask_letters(*client, request);
  if (!count) return complain(count.error());
  return report_purged(context, *count, ExitCode::kOk);
}

// Goes on if an agent cannot be asked, and then ends with the first failure.
ExitCode purge_all(const Context& context, const std::string& agent) {
  auto client = connect_to_look(context);
  if (!client) return complain(client.error());
  const auto letters = find_letters(*client, context.hive, agent);
  if (!letters) return complain(letters.error());
  std::vector<control::LettersRequest> requests;
  for (const LetterView& letter : letters->list) {
    control::LettersRequest request;
    request.what = control::kPurgeLetters;
    (letter.held ? request.of : request.to) = letter.to;
    const bool known = std::any_of(requests.begin(), requests.end(), [&](const auto& other) {
      return other.to == request.to && other.of == request.of;
    });
    if (!known) requests.push_back(std::move(request));
  }
  std::uint64_t count = 0;
  ExitCode code = ExitCode::kOk;
  for (const control::LettersRequest& request : requests) {
    const auto purged = control::ask_letters(*client, request);
    if (purged) {
      count += *purged;
      continue;
    }
    const ExitCode failed = complain(purged.error());
    if (code == ExitCode::kOk) code = failed;
  }
  if (letters->gap) {
    const ExitCode failed = complain(*letters->gap);
    if (code == ExitCode::kOk) code = failed;
  }
  return report_purged(context, count, code);
}

ExitCode purge(const Context& context, const LetterArguments& arguments) {
  if (!arguments.all) {
    if (arguments.id.empty()) {
      return complain(ExitCode::kUsage, "purge needs the ID of a letter, or --all");
    }
    return purge_one(context, arguments);
  }
  if (!arguments.agent.empty()) {
    return complain(ExitCode::kUsage,
                    fmt::format("--all takes no ID: leave out {} or --all", arguments.id));
  }
  return purge_all(context, arguments.id);  // with --all the first word is the agent
}

using Verb = ExitCode (*)(const Context&, const LetterArguments&);

CLI::App* add_verb(CLI::App& dlq, Context& context, const char* name, const char* about, Verb run,
                   std::shared_ptr<LetterArguments> arguments) {
  auto* verb = dlq.add_subcommand(name, about);
  verb->callback([&context, run, arguments] { context.exit = run(context, *arguments); });
  return verb;
}

void add_agent(CLI::App& verb, const char* option, std::string& into, const char* about) {
  verb.add_option(option, into, about)->check(is_agent());
}

void add_which(CLI::App& verb, LetterArguments& arguments) {
  verb.add_option("ID", arguments.id, "Id of the message as `beeline dlq ls` prints it")
      ->required();
  add_agent(verb, "AGENT", arguments.agent,
            "Name or pid of its receiver; needed where several hold copies of the message");
}

}  // namespace

void add_letters_verbs(CLI::App& app, Context& context) {
  auto* dlq = app.add_subcommand("dlq", "Dead letters: list, show, put back, let go");
  dlq->require_subcommand(1);
  dlq->footer(
      "Examples:\n"
      "  beeline dlq ls\n"
      "  beeline dlq requeue 3:21\n"
      "  beeline dlq purge --all worker\n"
      "A message becomes a dead letter when it is rejected, expires, or was handed out three\n"
      "times without an end. Each agent keeps 64. If there are more, unclaimed answers go\n"
      "first, then others; each time the oldest letter of the sender with the most letters\n"
      "goes. The coordinator keeps the letters of agents that have ended for good. Only the\n"
      "user of the hive and root may look at letters; the user of an agent may requeue and\n"
      "purge its letters, by ID and AGENT.");

  auto to_list = std::make_shared<LetterArguments>();
  auto* ls = add_verb(*dlq, context, "ls", "List dead letters; takes nothing", list, to_list);
  add_agent(*ls, "AGENT", to_list->agent, "Name or pid of the receiver; everybody if not given");
  ls->footer(
      "Examples:\n"
      "  beeline dlq ls\n"
      "  beeline dlq ls worker --json | jq -r '.[] | select(.reason == \"expired\").id'\n"
      "Works for an agent that is away, and for one that has ended for good. Exits with 4 if "
      "there\n"
      "is no such agent, with 7 if letters cannot be read from here; the others are listed.");

  auto to_show = std::make_shared<LetterArguments>();
  auto* show_verb = add_verb(*dlq, context, "show", "Show a dead letter whole", show, to_show);
  add_which(*show_verb, *to_show);
  show_verb->add_flag("--raw", to_show->raw, "The bytes of the payload and nothing else");
  show_verb->footer(
      "Examples:\n"
      "  beeline dlq show 3:21\n"
      "  beeline dlq show 3:21 worker --raw > payload");

  auto to_requeue = std::make_shared<LetterArguments>();
  auto* requeue_verb = add_verb(*dlq, context, "requeue", "Put a dead letter back into the inbox",
                                requeue, to_requeue);
  add_which(*requeue_verb, *to_requeue);
  add_agent(*requeue_verb, "--to", to_requeue->to,
            "Send it to this agent instead, because its receiver has ended");
  requeue_verb->footer(
      "Examples:\n"
      "  beeline dlq requeue 3:21\n"
      "  beeline dlq requeue 3:21 --to worker-2\n"
      "It is delivered again with all its attempts before it, and never expires. The receiver "
      "does\n"
      "it at its next call. Exits with 4 if that has no process: its letters wait until it "
      "attaches\n"
      "again; with 5 if it does not answer within --timeout (10 s), and it is not done later "
      "then.\n"
      "With --to it is a new message with type, channel, rank, cause, trace and hops of the old,\n"
      "which is let go of after that was sent: a kill between the two leaves both.");

  auto to_purge = std::make_shared<LetterArguments>();
  auto* purge_verb = add_verb(*dlq, context, "purge", "Let dead letters go", purge, to_purge);
  purge_verb->add_option("ID", to_purge->id, "Id of the message as `beeline dlq ls` prints it");
  add_agent(*purge_verb, "AGENT", to_purge->agent,
            "Name or pid of its receiver; needed where several hold copies of it");
  purge_verb->add_flag("--all", to_purge->all,
                       "All letters, or all of AGENT, which is the only argument then");
  purge_verb->footer(
      "Examples:\n"
      "  beeline dlq purge 3:21\n"
      "  beeline dlq purge --all\n"
      "  beeline dlq purge --all worker\n"
      "Prints how many it let go. Exits as `beeline dlq requeue` does where an agent cannot be "
      "asked;\nthe letters of all others are gone then.");
}

}  // namespace beeline::cli
