#include "bench/limit.h"

#include <chrono>
#include <limits>

#include "bench/rounds.h"
#include "src/os/futex.h"

namespace beeline::bench {
namespace {

constexpr std::uint32_t kEnd = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kWarmUpRounds = 100;

void store(LoneWord& word, LimitKind kind, std::uint32_t value) {
  word.value.store(value, std::memory_order_release);
  if (kind == LimitKind::kFutex) (void)os::futex_wake_all(&word.value);
}

/// Waits until the word is no longer `old`; returns what it is.
std::uint32_t await_change(const LoneWord& word, LimitKind kind, std::uint32_t old) {
  for (;;) {
    const std::uint32_t value = word.value.load(std::memory_order_acquire);
    if (value != old) return value;
    if (kind == LimitKind::kFutex) {
      (void)os::futex_wait(&word.value, old, std::chrono::nanoseconds::max());
    }
  }
}

}  // namespace

void play_limit_ping(Board& board, LimitKind kind, double seconds, Histogram& histogram) {
  std::uint32_t last = 0;
  const auto round = [&](std::uint32_t number) {
    store(board.ping, kind, number);
    last = await_change(board.pong, kind, last);
    return true;
  };
  for (std::uint32_t number = 1; number <= kWarmUpRounds; ++number) round(number);
  time_rounds(seconds, histogram,
              [&](std::uint32_t number) { return round(kWarmUpRounds + number); });
  store(board.ping, kind, kEnd);
}

void play_limit_pong(Board& board, LimitKind kind) {
  for (std::uint32_t last = 0;;) {
    last = await_change(board.ping, kind, last);
    if (last == kEnd) return;
    store(board.pong, kind, last);
  }
}

void play_limit(Board& board, Side side, LimitKind kind, double seconds, Histogram& histogram,
                std::uint32_t point) {
  // Each side resets the word that it writes, so that a second limit of a run starts as the first.
  LoneWord& own = side == Side::kPing ? board.ping : board.pong;
  own.value.store(0, std::memory_order_relaxed);
  meet(board, side, point);
  if (side == Side::kPing) {
    play_limit_ping(board, kind, seconds, histogram);
  } else {
    play_limit_pong(board, kind);
  }
  meet(board, side, point + 1);
}

}  // namespace beeline::bench
