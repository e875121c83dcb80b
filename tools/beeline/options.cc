#include "tools/beeline/options.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "shm/link.h"
#include "src/control/names.h"
#include "src/control/roles.h"
#include "src/os/error.h"

namespace beeline::cli {
namespace {

using std::chrono::nanoseconds;

struct Unit {
  std::string_view name;
  nanoseconds length;
};
constexpr std::array<Unit, 7> kUnits = {{{"", std::chrono::seconds(1)},
                                         {"ns", nanoseconds(1)},
                                         {"us", std::chrono::microseconds(1)},
                                         {"ms", std::chrono::milliseconds(1)},
                                         {"s", std::chrono::seconds(1)},
                                         {"m", std::chrono::minutes(1)},
                                         {"h", std::chrono::hours(1)}}};
constexpr double kLongestSeconds = 365.0 * 24 * 3600;

constexpr std::array<std::pair<std::string_view, std::int32_t>, 4> kRanks = {
    {{"critical", kCritical}, {"high", kHigh}, {"normal", kNormal}, {"low", kLow}}};

Result<std::string> read_all(int fd, const std::string& what) {
  std::string body;
  std::array<char, 64 * 1024> bytes{};
  for (;;) {
    const ssize_t count = ::read(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return os::system_failure(fmt::format("cannot read the body from {}", what));
    if (count == 0) return body;
    body.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

Result<nanoseconds> parse_duration(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const Unit& unit : kUnits) {
    if (error != std::errc() || rest != unit.name) continue;
    const double seconds = value * std::chrono::duration<double>(unit.length).count();
    if (!(seconds >= 0 && seconds <= kLongestSeconds)) break;
    return nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
  }
  return fail(ErrorCode::kInvalid,
              fmt::format("\"{}\" is no duration between 0 and a year: write it like 500ms, 2s "
                          "or 1m",
                          text));
}

std::vector<std::string_view> rank_words() {
  std::vector<std::string_view> words;
  for (const auto& [word, rank] : kRanks) words.push_back(word);
  return words;
}

Result<std::int32_t> parse_rank(std::string_view text) {
  for (const auto& [word, rank] : kRanks) {
    if (text == word) return rank;
  }
  std::int32_t rank = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  if (error == std::errc() && end == text.data() + text.size()) return rank;
  return fail(
      ErrorCode::kInvalid,
      fmt::format("\"{}\" is no rank: write critical, high, normal, low or an integer", text));
}

Result<SendOptions> MessageArguments::options() const {
  SendOptions made;
  const auto parsed = parse_rank(rank);
  if (!parsed) return tl::unexpected(parsed.error());
  made.rank = *parsed;
  made.type = type;
  made.channel = channel;
  if (!ttl.empty()) {
    const auto life = parse_duration(ttl);
    if (!life) return tl::unexpected(life.error());
    const auto milliseconds = *life / std::chrono::milliseconds(1);
    if (milliseconds < 1 || milliseconds > std::numeric_limits<std::uint32_t>::max()) {
      return fail(ErrorCode::kInvalid,
                  fmt::format("--ttl {}: must lie between 1ms and 49 days", ttl));
    }
    made.ttl_ms = static_cast<std::uint32_t>(milliseconds);
  }
  return made;
}

Result<os::UniqueFd> open_body(const std::string& path) {
  os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.valid()) return file;
  return os::system_failure(fmt::format(
      "cannot open {} for the body (use - and stdin for a body that starts with @)", path));
}

Result<std::string> read_body(const std::string& argument) {
  if (argument == "-") return read_all(STDIN_FILENO, "stdin");
  if (!argument.starts_with('@')) return argument;
  const std::string path = argument.substr(1);
  const auto file = open_body(path);
  if (!file) return tl::unexpected(file.error());
  return read_all(file->get(), path);
}

CLI::Validator is_agent() {
  const auto check = [](const std::string& text) -> std::string {
    if (text.empty()) return "the name is empty: give one, or see whether a variable is unset";
    const auto good = control::check_utf8("name", text);
    return good ? std::string() : good.error().text;
  };
  return {check, "", "agent"};
}

CLI::Validator is_message_id() {
  const auto check = [](const std::string& text) -> std::string {
    if (parse_id(text)) return "";
    return fmt::format("\"{}\" is no id of a message: write it as it is printed, like 3:21", text);
  };
  return {check, ""};
}

CLI::Validator is_label(const char* what) {
  const auto check = [what](const std::string& text) -> std::string {
    constexpr std::size_t kMost = shm::kStringBytes - 1;
    if (text.size() <= kMost) return "";
    return fmt::format("the {} \"{}\" has {} bytes, the limit is {}; use a shorter one", what, text,
                       text.size(), kMost);
  };
  return {check, ""};
}

CLI::Validator is_agent_role() {
  return CLI::IsMember(
      std::vector<std::string>(control::kAgentRoleWords.begin(), control::kAgentRoleWords.end()));
}

void add_attach_options(CLI::App& verb, AttachArguments& arguments) {
  verb.add_option("--parent", arguments.parent, "Name of the parent; the coordinator if not given")
      ->check(is_agent());
  verb.add_option("--role", arguments.role,
                  control::agent_roles() +
                      ". A word for people, lists and `beeline bcast --role`; only task changes a "
                      "rule: it sends to its parent alone")
      ->check(is_agent_role())
      ->capture_default_str();
}

void add_message_options(CLI::App& verb, MessageArguments& arguments) {
  verb.add_option("--rank", arguments.rank,
                  "critical, high, normal, low or an integer; lower goes first")
      ->capture_default_str();
  verb.add_option("--type", arguments.type, "Type of the message, at most 31 bytes")
      ->check(is_label("type"));
  verb.add_option("--channel", arguments.channel, "Channel of the message, at most 31 bytes")
      ->check(is_label("channel"));
  verb.add_option("--ttl", arguments.ttl, "Expires after this long, for example 30s");
}

void add_sender_options(CLI::App& verb, SenderArguments& arguments) {
  auto* as = verb.add_option("--as", arguments.as,
                             "Act as this agent. A new one is forgotten at the end; one that is "
                             "away is taken over, and stays with its inbox. A temporary agent if "
                             "not given")
                 ->check(is_agent());
  verb.add_flag("--keep", arguments.keep,
                "Keep the new name of --as, and the messages that come for it")
      ->needs(as);
}

}  // namespace beeline::cli
