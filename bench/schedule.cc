#include "bench/schedule.h"

#include <sys/prctl.h>

#include <chrono>
#include <cstdint>

#include "src/os/clock.h"

namespace beeline::bench {
namespace {

struct Schedule {
  std::int64_t start = 0;
  double period_ns = 0.0;

  [[nodiscard]] std::int64_t due(std::uint64_t round) const {
    return start + static_cast<std::int64_t>(static_cast<double>(round) * period_ns);
  }
};

/// A waiting agent sleeps until the next message is due, or an answer comes.
std::optional<Message> answer_until(Agent& agent, const Case& what, std::int64_t due) {
  const std::int64_t left = due - os::monotonic_ns();
  if (what.mode == WaitMode::kSpin || left <= 0) return agent.try_receive();
  ReceiveOptions options;
  options.timeout = std::chrono::nanoseconds(left);
  auto message = agent.receive(options);
  if (!message) return std::nullopt;
  return std::move(*message);
}

}  // namespace

Result<void> time_schedule(Board& board, Player& player, const Case& what, std::uint64_t number) {
  constexpr std::int64_t kPatience_ns = 10'000'000'000;  // for answers, after the last was due
  // A sleep must not end late by more than the system needs.
  ::prctl(PR_SET_TIMERSLACK, 1UL);
  const std::int64_t length = static_cast<std::int64_t>(what.seconds * 1e9);
  const Schedule schedule{os::monotonic_ns(), 1e9 / what.rate};
  const auto wanted =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(what.seconds * what.rate));
  std::uint64_t sent = 0;
  for (std::uint64_t answered = 0; answered < wanted;) {
    const std::int64_t now = os::monotonic_ns();
    const bool is_due = sent < wanted && now >= schedule.due(sent);
    if (is_due && player.try_send(number + sent + 1)) {
      board.late.record(now - schedule.due(sent++));
      continue;
    }
    if (!player.error()) return player.error();
    const std::int64_t last = schedule.start + length + kPatience_ns;
    if (now > last) return fail(ErrorCode::kTimeout, "an answer does not come");
    auto answer = answer_until(player.agent(), what, sent < wanted ? schedule.due(sent) : last);
    if (!answer) continue;
    const std::int64_t end = os::monotonic_ns();
    const bool is_whole = player.is_whole(*answer, number + answered + 1);
    answer->done();
    if (!is_whole) return fail(ErrorCode::kSystem, "a payload is not what was sent");
    board.rounds.record(end - schedule.due(answered++));
  }
  return {};
}

}  // namespace beeline::bench
