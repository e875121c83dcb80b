#include "bench/latency.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/agents.h"
#include "bench/rounds.h"
#include "bench/schedule.h"
#include "src/agent/task_codec.h"
#include "src/control/history_client.h"

namespace beeline::bench {
namespace {

constexpr double kWarmUpSeconds = 0.02;

const std::map<std::string, shm::HistoryLevel> kHistoryLevels{
    {"off", shm::HistoryLevel::kOff},
    {"headers", shm::HistoryLevel::kHeaders},
    {"previews", shm::HistoryLevel::kPreviews}};

bool asks(const Case& what) { return what.carry == Carry::kRequest; }
bool executes(const Case& what) { return what.carry == Carry::kExecute; }

Result<void> ping(Board& board, Player& player, const Case& what) {
  std::uint64_t number = 0;
  const auto round = [&](std::uint32_t) {
    ++number;
    if (executes(what)) return player.execute(number);
    return asks(what) ? player.ask(number) : player.send(number) && player.receive(number);
  };
  time_rounds(kWarmUpSeconds, board.rounds, round);
  board.rounds.clear();
  if (player.error() && what.rate == 0.0) time_rounds(what.seconds, board.rounds, round);
  if (player.error() && what.rate > 0.0) {
    if (auto timed = time_schedule(board, player, what, number); !timed) return timed;
  }
  if (player.error()) (void)player.send_end();
  return player.error();
}

Result<void> pong(Player& player, const Case& what) {
  if (executes(what)) {
    player.work();
    return player.error();
  }
  const auto round = [&](std::uint64_t number) {
    return asks(what) ? player.answer(number) : player.receive(number) && player.send(number);
  };
  for (std::uint64_t number = 1; round(number);) ++number;
  return player.error();
}

// Rows with this common text form one line of a picture.
std::string how_text(const Case& what) {
  std::string text(to_string(what.mode));
  if (what.carry == Carry::kUntouched) text += ", untouched";
  if (asks(what)) text += ", request";
  if (executes(what)) text += ", execute";
  if (what.rate > 0.0) text += fmt::format(", {}/s", what.rate);
  if (what.history) text += fmt::format(", history {}", shm::to_string(*what.history));
  return text;
}

// The agents of a run attach after it, and record from their first message on.
Result<void> switch_history(shm::HistoryLevel level) {
  auto client = control::Client::connect();
  if (!client) return tl::unexpected(client.error());
  const auto set = control::ask_history(*client, static_cast<std::int32_t>(level));
  return set ? Result<void>() : tl::unexpected(set.error());
}

void fill(Row& row, const Case& what, const Outcome& outcome) {
  row["size"] = what.size;
  row["payload"] = to_string(what.carry);
  row["rtt_ns"] = percentiles_json(outcome.rtt_ns);
  row["ratio_p50"] = ratio_of(outcome);
  row["how"] = how_text(what);
  if (what.history) row["history"] = shm::to_string(*what.history);
  if (what.rate == 0.0) return;
  row["rate"] = what.rate;
  row["sent_late_ns"] = percentiles_json(outcome.late_ns);
}

class Latency final : public Benchmark {
 public:
  Latency()
      : Benchmark({.name = "latency",
                   .help = "Round trips of messages between two agents, next to the limit",
                   .about = "round trip of a message, ns; limit: p50 of the bare round trip, in "
                            "the same run",
                   .columns = {{"size", "/size", 8, 1.0, 0, true},
                               {"payload", "/payload"},
                               {"mode", "/mode", 8},
                               {"rate/s", "/rate", 7},
                               {"history", "/history", 8},
                               {"p50", "/rtt_ns/p50"},
                               {"p99", "/rtt_ns/p99"},
                               {"p99.9", "/rtt_ns/p999"},
                               {"max", "/rtt_ns/max"},
                               {"limit", "/limit_rtt_ns/p50"},
                               {"ratio", "/ratio_p50", 6, 1.0, 2}}}) {}

  void add_flags(CLI::App& command) override {
    add_footer(command,
               "Without --size also a loan of 1M that is not touched, 64 bytes by request, and 64\n"
               "bytes as a task beside a request of the bytes of that task.\n"
               "With neither --size nor --mode all of them in mode sleep as well.");
    flags_.add_run(command, 0.3).add_attempts(command).add_modes(command, {WaitMode::kSpin});
    flags_.add_sizes(command, {16, 64, 1024}).add_carry(command).add_rate(command);
    flags_.add_hist(command);
    command
        .add_flag("--request", request_,
                  "Each round is a request() and its answer, which is sent with reply() before the "
                  "question is finished; payloads are copied")
        ->excludes("--untouched", "--rate");
    command
        .add_option("--history", history_,
                    "What the hive records meanwhile: off, headers or previews; several with "
                    "commas, which are measured in turn")
        ->delimiter(',')
        ->transform(CLI::CheckedTransformer(kHistoryLevels).description(""));
    command
        .add_flag("--execute", execute_,
                  "Each round is a task for a child and its result, which carry the payload as "
                  "context and as output")
        ->excludes("--untouched", "--rate", "--request");
  }

  Result<void> run(Sink& out) override {
    auto cases = flags_.cases(rows());
    if (!flags_.has_sizes() && !flags_.has_modes()) {
      cases = flags_.cases(rows(), {WaitMode::kSpin, WaitMode::kSleep});
    }
    const auto run_one = [](SharedBoard& board, const Case& what) -> Result<Outcome> {
      if (what.history) {
        if (auto set = switch_history(*what.history); !set) return tl::unexpected(set.error());
      }
      return run_latency(board, what);
    };
    return run_rows_in_hive(out, flags_, recording(cases), run_one, fill);
  }

 private:
  [[nodiscard]] std::vector<Case> rows() const {
    auto rows = flags_.sized();
    for (Case& row : rows) {
      row.rate = flags_.rate();
      if (request_) row.carry = Carry::kRequest;
      if (execute_) row.carry = Carry::kExecute;
    }
    if (flags_.has_sizes() || request_ || execute_) return rows;
    Case more = rows.front();
    more.size = 1 << 20;
    more.carry = Carry::kUntouched;
    rows.push_back(more);
    if (flags_.rate() > 0.0) return rows;
    more.size = kLanePayload;
    more.carry = Carry::kRequest;
    rows.push_back(more);
    more.carry = Carry::kExecute;
    rows.push_back(more);
    more.carry = Carry::kRequest;
    more.size =
        encoded_bytes(Task{.description = "echo", .context = std::string(kLanePayload, 'x')});
    rows.push_back(more);
    return rows;
  }
  // Each of these cases with each history.
  [[nodiscard]] std::vector<Case> recording(const std::vector<Case>& cases) const {
    if (history_.empty()) return cases;
    std::vector<Case> all;
    for (Case one : cases) {
      for (const shm::HistoryLevel level : history_) {
        one.history = level;
        all.push_back(one);
      }
    }
    return all;
  }

  bool request_ = false;
  bool execute_ = false;
  std::vector<shm::HistoryLevel> history_;
};

}  // namespace

Result<Outcome> run_latency(SharedBoard& board, const Case& what) {
  return run_case(board, what, [&](Board& shared, Side side) -> Result<Measure> {
    auto joined = Player::join(shared, side, what);
    if (!joined) return tl::unexpected(joined.error());
    auto player = std::make_shared<Player>(std::move(*joined));
    return [player, &what](Board& own, Side plays) {
      return plays == Side::kPing ? ping(own, *player, what) : pong(*player, what);
    };
  });
}

std::unique_ptr<Benchmark> make_latency() { return std::make_unique<Latency>(); }

}  // namespace beeline::bench
