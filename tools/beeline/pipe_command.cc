#include "tools/beeline/pipe_command.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "shm/link.h"
#include "src/control/roles.h"
#include "tools/beeline/base64.h"
#include "tools/beeline/options.h"

namespace beeline::cli {
namespace {

using LineRefused = tl::unexpected<PipeRefusal>;

constexpr int kDeepest = 32;  // deepest nesting of a line
constexpr double kLongestWaitMs = 365.0 * 24 * 3600 * 1000;
constexpr double kLongestRoomMs = 60'000;
constexpr std::size_t kMostListed = 100'000;

struct VerbRow {
  std::string_view name;
  PipeVerb verb;
  std::string_view needs;  // required fields, separated by blanks
  std::string_view takes;  // optional fields
};
constexpr std::array<VerbRow, 11> kPipeVerbs = {{
    {"receive", PipeVerb::kReceive, "", "timeout_ms type channel copies"},
    {"done", PipeVerb::kDone, "id", "body body_base64"},
    {"requeue", PipeVerb::kRequeue, "id", ""},
    {"put_back", PipeVerb::kPutBack, "id", ""},
    {"reject", PipeVerb::kReject, "id", "body body_base64"},
    {"reply", PipeVerb::kReply, "id", "body body_base64 rank type channel ttl_ms room_ms"},
    {"send", PipeVerb::kSend, "to",
     "body body_base64 rank type channel ttl_ms reply_to requires_ack timeout_ms room_ms"},
    {"request", PipeVerb::kRequest, "to",
     "body body_base64 rank type channel ttl_ms timeout_ms leave"},
    {"broadcast", PipeVerb::kBroadcast, "", "group body body_base64 rank type channel ttl_ms"},
    {"cancel", PipeVerb::kCancel, "", "of to id"},
    {"inbox", PipeVerb::kInbox, "", "limit type channel"},
}};

std::vector<std::string> field_names(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

bool has_field_name(std::string_view text, std::string_view wanted) {
  const std::vector<std::string> words = field_names(text);
  return std::find(words.begin(), words.end(), wanted) != words.end();
}

// A value, shortened for people.
std::string value_text(const Json& value) {
  constexpr std::size_t kMost = 60;
  std::string text = value.is_structured()
                         ? value.type_name()
                         : value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  return text;
}

// ---- Fields: each reads its value, or returns a text that says which values are right
// ------------

using Correction = std::optional<std::string>;
constexpr std::nullopt_t kFieldIsGood = std::nullopt;

Correction read_message_id(const Json& value, MessageId& id) {
  const auto parsed =
      value.is_string() ? parse_id(value.get_ref<const std::string&>()) : std::nullopt;
  if (!parsed || *parsed == 0) return "the id of a message as it is printed, like \"3:21\"";
  id = *parsed;
  return kFieldIsGood;
}

Correction read_bool(const Json& value, bool& flag) {
  if (!value.is_boolean()) return "true or false";
  flag = value.get<bool>();
  return kFieldIsGood;
}

Correction read_label(const Json& value, std::string& label) {
  constexpr std::size_t kMost = shm::kStringBytes - 1;
  const auto* text = value.get_ptr<const std::string*>();
  if (text == nullptr || text->size() > kMost || text->find('\0') != std::string::npos) {
    return fmt::format("a string of at most {} bytes without a zero byte", kMost);
  }
  label = *text;
  return kFieldIsGood;
}

Correction read_milliseconds(const Json& value, double most, std::chrono::nanoseconds& time) {
  const double ms = value.is_number() ? value.get<double>() : -1;
  if (!(ms >= 0 && ms <= most)) return fmt::format("a number of milliseconds from 0 to {}", most);
  time = std::chrono::nanoseconds(static_cast<std::int64_t>(ms * 1e6));
  return kFieldIsGood;
}

Correction read_whole(const Json& value, std::uint64_t least, std::uint64_t most,
                      std::uint64_t& number) {
  const bool is_whole = value.is_number_unsigned();
  number = is_whole ? value.get<std::uint64_t>() : 0;
  if (is_whole && number >= least && number <= most) return kFieldIsGood;
  return fmt::format("a whole number from {} to {}", least, most);
}

Correction read_to(const Json& value, PipeCommand& command) {
  std::uint64_t pid = 0;
  const bool is_pid = !read_whole(value, 1, (1U << 24) - 1, pid);
  const auto* name = value.get_ptr<const std::string*>();
  if (!is_pid && (name == nullptr || name->empty())) return "the name of an agent, or its pid";
  command.to = is_pid ? std::to_string(pid) : *name;
  return kFieldIsGood;
}

Correction read_rank(const Json& value, PipeCommand& command) {
  const auto* word = value.get_ptr<const std::string*>();
  const std::string text = word != nullptr ? *word : value.is_number_integer() ? value.dump() : "";
  const auto rank = parse_rank(text);
  if (!rank) return "critical, high, normal, low or an integer of 32 bits";
  command.rank = *rank;
  return kFieldIsGood;
}

Correction read_base64(const Json& value, PipeCommand& command) {
  const auto* text = value.get_ptr<const std::string*>();
  auto bytes = text != nullptr ? from_base64(*text) : std::nullopt;
  if (!bytes) return "a string in base64 with its padding";
  command.body = std::move(*bytes);
  return kFieldIsGood;
}

Correction read_group(const Json& value, PipeCommand& command) {
  const auto& roles = control::kAgentRoleWords;
  const std::string group = value.is_string() ? value.get<std::string>() : "";
  const bool is_kin = group == "all" || group == "children" || group == "subtree";
  if (!is_kin && std::find(roles.begin(), roles.end(), group) == roles.end()) {
    return "all, children, subtree or a role: " + control::agent_roles();
  }
  command.group = group;
  return kFieldIsGood;
}

using ReadField = Correction (*)(const Json& value, PipeCommand& command);

constexpr std::array<std::pair<std::string_view, ReadField>, 18> kPipeFields = {{
    {"id", [](const Json& v, PipeCommand& c) { return read_message_id(v, c.id); }},
    {"to", read_to},
    {"body",
     [](const Json& v, PipeCommand& c) -> Correction {
       if (!v.is_string()) return "a string; bytes that are no text go into body_base64";
       c.body = v.get<std::string>();
       return kFieldIsGood;
     }},
    {"body_base64", read_base64},
    {"rank", read_rank},
    {"type", [](const Json& v, PipeCommand& c) { return read_label(v, c.type); }},
    {"channel", [](const Json& v, PipeCommand& c) { return read_label(v, c.channel); }},
    {"ttl_ms",
     [](const Json& v, PipeCommand& c) {
       std::uint64_t ttl = 0;
       Correction wanted = read_whole(v, 1, std::numeric_limits<std::uint32_t>::max(), ttl);
       c.ttl_ms = static_cast<std::uint32_t>(ttl);
       return wanted;
     }},
    {"reply_to", [](const Json& v, PipeCommand& c) { return read_message_id(v, c.reply_to); }},
    {"requires_ack", [](const Json& v, PipeCommand& c) { return read_bool(v, c.requires_ack); }},
    {"leave", [](const Json& v, PipeCommand& c) { return read_bool(v, c.leave); }},
    {"copies", [](const Json& v, PipeCommand& c) { return read_bool(v, c.copies); }},
    {"timeout_ms",
     [](const Json& v, PipeCommand& c) {
       return read_milliseconds(v, kLongestWaitMs, c.timeout.emplace());
     }},
    {"room_ms",
     [](const Json& v, PipeCommand& c) { return read_milliseconds(v, kLongestRoomMs, c.room); }},
    {"of",
     [](const Json& v, PipeCommand& c) -> Correction {
       if (v.is_null()) return "the seq of the command that is to end";
       c.of = v;
       return kFieldIsGood;
     }},
    {"group", read_group},
    {"limit",
     [](const Json& v, PipeCommand& c) {
       std::uint64_t limit = 0;
       Correction wanted = read_whole(v, 1, kMostListed, limit);
       c.limit = limit;
       return wanted;
     }},
    {"seq", [](const Json&, PipeCommand&) -> Correction { return kFieldIsGood; }},
}};

ReadField reader_of(std::string_view name) {
  const auto* found = std::find_if(kPipeFields.begin(), kPipeFields.end(),
                                   [&](const auto& field) { return field.first == name; });
  return found == kPipeFields.end() ? nullptr : found->second;
}

// ---- Lines --------------------------------------------------------------------------------------

std::string fields_text(const VerbRow& row) {
  std::string text = "do seq";
  for (const std::string_view part : {row.needs, row.takes}) {
    if (!part.empty()) text.append(" ").append(part);
  }
  return text;
}

std::string verbs_text() {
  std::string text;
  for (const VerbRow& row : kPipeVerbs) text.append(text.empty() ? "" : ", ").append(row.name);
  return text;
}

// Parses a line as an object.
tl::expected<Json, std::string> parse_object(std::string_view line) {
  bool is_too_deep = false;
  const auto keep = [&](int depth, Json::parse_event_t, Json&) {
    is_too_deep |= depth > kDeepest;
    return depth <= kDeepest;
  };
  try {
    Json object = Json::parse(line, keep);
    if (is_too_deep) {
      return tl::unexpected(
          fmt::format("nests deeper than {} levels: send less in `seq`", kDeepest));
    }
    if (object.is_object()) return object;
    return tl::unexpected(fmt::format(
        "is no JSON object but {}: write one like {{\"do\":\"receive\"}}", value_text(object)));
  } catch (const Json::parse_error& error) {
    return tl::unexpected(
        fmt::format("is no JSON: byte {} of {} is wrong; write one object in UTF-8 on each line",
                    error.byte, line.size()));
  } catch (const Json::out_of_range&) {
    return tl::unexpected(std::string("is no JSON: a number is larger than a double holds"));
  }
}

// Names the fields that exclude each other; empty if there are none.
std::string field_clash(const PipeCommand& command, const Json& object) {
  if (object.contains("body") && object.contains("body_base64")) {
    return "has body and body_base64: give one of them";
  }
  if (command.verb == PipeVerb::kSend && command.timeout && !command.requires_ack) {
    return "has timeout_ms without requires_ack: it is how long to wait for the acknowledgement; "
           "room_ms waits for room";
  }
  const bool names_message = object.contains("to") && object.contains("id");
  const bool names_any = object.contains("to") || object.contains("id");
  if (command.verb == PipeVerb::kCancel && (command.of ? names_any : !names_message)) {
    return "needs of (the seq of a command that is under way), or to and id (of a message that was "
           "sent), and not both";
  }
  return "";
}

}  // namespace

SendOptions PipeCommand::options() const {
  SendOptions made;
  made.rank = rank;
  made.type = type;
  made.channel = channel;
  made.ttl_ms = ttl_ms;
  made.reply_to = reply_to;
  made.requires_ack = requires_ack;
  return made;
}

tl::expected<PipeCommand, PipeRefusal> parse_command(std::string_view line) {
  const auto object = parse_object(line);
  if (!object) return LineRefused({nullptr, object.error()});
  PipeCommand command;
  command.seq = object->value("seq", Json(nullptr));
  const auto refuse = [&](std::string text) { return LineRefused({command.seq, std::move(text)}); };

  const auto word = object->find("do");
  if (word == object->end()) return refuse("has no field \"do\": it is one of " + verbs_text());
  const auto* row = std::find_if(kPipeVerbs.begin(), kPipeVerbs.end(),
                                 [&](const VerbRow& each) { return *word == each.name; });
  if (row == kPipeVerbs.end()) {
    return refuse(
        fmt::format("\"do\" is {}: it must be one of {}", value_text(*word), verbs_text()));
  }
  command.verb = row->verb;
  for (const std::string& name : field_names(row->needs)) {
    if (object->contains(name)) continue;
    return refuse(fmt::format("`{}` needs the field \"{}\"", row->name, name));
  }
  const std::string known = fields_text(*row);
  for (const auto& [name, value] : object->items()) {
    if (name == "do") continue;
    if (!has_field_name(known, name)) {
      return refuse(fmt::format("`{}` has no field {}: its fields are {}", row->name,
                                value_text(Json(name)), known));
    }
    const Correction wanted = reader_of(name)(value, command);
    if (wanted) {
      return refuse(fmt::format("\"{}\" of `{}` is {}: it must be {}", name, row->name,
                                value_text(value), *wanted));
    }
  }
  const std::string wrong = field_clash(command, *object);
  if (!wrong.empty()) return refuse(fmt::format("`{}` {}", row->name, wrong));
  return command;
}

}  // namespace beeline::cli
