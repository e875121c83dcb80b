#include "tools/beeline/watch.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tools/beeline/output.h"
#include "tools/beeline/signals.h"
#include "tools/beeline/verbs.h"

namespace beeline::cli {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr nanoseconds kShortestWatch = std::chrono::milliseconds(100);
constexpr int kPauseForEachLook = 3;

// Lines of the terminal; 0 if it does not say.
std::size_t terminal_lines() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

// Writes over the present text of the terminal: lines that are too long or too many are cut.
std::string drawn(std::string_view text) {
  constexpr std::string_view kHome = "\x1b[H";
  constexpr std::string_view kNoWrap = "\x1b[?7l";
  constexpr std::string_view kWrap = "\x1b[?7h";
  constexpr std::string_view kClearLine = "\x1b[K";
  constexpr std::string_view kClearBelow = "\x1b[J";
  const auto all = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  const std::size_t room = terminal_lines();
  const std::size_t shown = room > 2 && all >= room ? room - 2 : all;
  std::string frame = fmt::format("{}{}", kHome, kNoWrap);
  for (std::size_t line = 0; line < shown; ++line) {
    const std::size_t end = text.find('\n');
    frame.append(text.substr(0, end)).append(kClearLine).append("\n");
    text.remove_prefix(end + 1);
  }
  if (shown != all) frame += fmt::format("... and {} lines more{}\n", all - shown, kClearLine);
  return frame.append(kClearBelow).append(kWrap);
}

// Prints one text after another, in place of the last one on a terminal.
class Pictures {
 public:
  explicit Pictures(bool json) : json_(json), in_place_(!json && takes_escapes()) {}

  bool show(const std::string& text) {
    const bool is_first = std::exchange(is_first_, false);
    if (!in_place_) return print(is_first || json_ ? text : '\n' + text);
    constexpr std::string_view kClear = "\x1b[2J";
    return print((is_first ? std::string(kClear) : "") + drawn(text));
  }

 private:
  bool json_;
  bool in_place_;
  bool is_first_ = true;
};

// Waits until the pause is over or the coordinator has gone. True if a signal came.
bool pause(Signals& signals, control::Client& client, nanoseconds length) {
  const auto end = steady_clock::now() + length;
  while (!client.closed()) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - steady_clock::now()).count();
    if (left <= 0) break;
    std::array<pollfd, 2> events = {{{signals.fd(), POLLIN, 0}, {client.fd(), POLLIN, 0}}};
    const auto most = std::min<std::int64_t>(left, 60'000);
    if (::poll(events.data(), events.size(), static_cast<int>(most)) < 0) break;
    if (signals.take()) return true;
    while (client.try_next()) {
    }
  }
  return signals.take().has_value();
}

// Asks a coordinator once more that was restarted meanwhile.
Result<std::string> look_again(control::Client& client, const Look& look) {
  if (!client.closed()) {
    auto text = look(client);
    if (text || !client.closed()) return text;
  }
  if (auto connected = client.reconnect(); !connected) {
    return tl::unexpected(std::move(connected.error()));
  }
  return look(client);
}

// The pause that a text means. Errors: kInvalid (no duration, or too short).
Result<nanoseconds> parse_watch(std::string_view text) {
  auto every = parse_duration(text);
  if (every && *every < kShortestWatch) {
    return fail(
        ErrorCode::kInvalid,
        fmt::format("{} is too short: the shortest pause between two looks is 100ms", text));
  }
  return every;
}

}  // namespace

void add_watch_option(CLI::App& verb, Watch& watch, std::function<bool(std::string)> is_other) {
  const auto take = [&watch, is_other = std::move(is_other)](const std::string& text) {
    watch.every = kDefaultWatch;
    if (text.empty()) return;
    if (!parse_duration(text) && is_other != nullptr && is_other(text)) return;
    const auto every = parse_watch(text);
    if (!every) throw CLI::ValidationError("--watch", every.error().text);
    watch.every = *every;
  };
  verb.add_option_function<std::string>("--watch", take,
                                        "Look again and again, with this pause or 2s; Ctrl-C ends")
      ->expected(0, 1)
      ->type_name("[DURATION]");
}

ExitCode look_on(const Context& context, const Watch& watch, const Look& look) {
  auto client = connect_to_look(context);
  if (!client) return complain(client.error());
  if (!watch.every) {
    const auto text = look(*client);
    if (!text) return complain(text.error());
    print(*text);
    return ExitCode::kOk;
  }
  auto signals = Signals::block({SIGINT, SIGTERM, SIGHUP});
  if (!signals) return complain(signals.error());
  Pictures pictures(context.json);
  for (;;) {
    const auto begin = steady_clock::now();
    const auto text = look_again(*client, look);
    if (signals->take()) return ExitCode::kOk;
    if (!text) return complain(text.error());
    if (!pictures.show(*text)) return ExitCode::kError;
    const nanoseconds took = steady_clock::now() - begin;
    if (pause(*signals, *client, std::max(*watch.every, kPauseForEachLook * took))) {
      return ExitCode::kOk;
    }
  }
}

}  // namespace beeline::cli
