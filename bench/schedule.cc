#include "bench/schedule.h"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "bench/open_loop.h"
#include "src/os/clock.h"

namespace beeline::bench {
namespace {

// A waiting agent sleeps until the next message is due, or an answer comes.
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
  // A sleep must not end later than the system needs.
  ::prctl(PR_SET_TIMERSLACK, 1UL);
  const auto length = static_cast<std::int64_t>(what.seconds * 1e9);
  const std::int64_t start = os::monotonic_ns();
  const std::int64_t last = start + length + kPatience_ns;
  OpenLoop loop(start, what.rate,
                std::max<std::uint64_t>(1, static_cast<std::uint64_t>(what.seconds * what.rate)));
  while (!loop.all_answered()) {
    const std::int64_t now = os::monotonic_ns();
    if (loop.is_due(now) && player.try_send(number + loop.sent() + 1)) {
      board.late.record(loop.note_sent(now));
      continue;
    }
    if (!player.error()) return player.error();
    if (now > last) return fail(ErrorCode::kTimeout, "an answer does not come");
    auto answer = answer_until(player.agent(), what, loop.all_sent() ? last : loop.next_due_ns());
    if (!answer) continue;
    const std::int64_t end = os::monotonic_ns();
    const bool is_whole = player.is_whole(*answer, number + loop.answered() + 1);
    answer->done();
    if (!is_whole) return fail(ErrorCode::kSystem, "a payload is not what was sent");
    board.rounds.record(loop.note_answer(end));
  }
  return {};
}

}  // namespace beeline::bench
