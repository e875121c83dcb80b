#pragma once
// The machine's own limit: a word that goes to the other process and comes back, and nothing else.
//
// cache line  both sides spin on a line that only the other side writes
// futex       both sides sleep on a word that only the other side writes
// eventfd     both sides sleep in poll() on an eventfd that only the other side writes
// futexes     one side wakes each of all others by a word of its own, and sleeps on the one word in
//             which they count their answers

#include <memory>

#include "bench/benchmark.h"
#include "bench/pair.h"

namespace beeline::bench {

// Measures for `seconds` into `histogram`. The pong side runs play_limit_pong() meanwhile.
void play_limit_ping(Board& board, LimitKind kind, double seconds, Histogram& histogram);
// Returns when the ping side has ended.
void play_limit_pong(Board& board, LimitKind kind);

// Every side, between the meeting points `point` and `point` + 1.
void play_limit(Board& board, Side side, LimitKind kind, double seconds, Histogram& histogram,
                std::uint32_t point);

// Only the limit, into Board::rounds.
[[nodiscard]] Result<Outcome> run_limit(SharedBoard& board, const Case& what);

// The sub-command: only the limit, and a description of the machine.
[[nodiscard]] std::unique_ptr<Benchmark> make_limit();

}  // namespace beeline::bench
