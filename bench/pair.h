#pragma once
// Two processes, one on each CPU, and the memory that they share for the measurement itself: the
// words of the limit, their meeting points, and what they found out.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>

#include <beeline/result.h>

#include "bench/case.h"
#include "bench/histogram.h"

namespace beeline::bench {

enum class Side : std::uint8_t { kPing = 0, kPong = 1 };

/// A word that shares its cache lines with nothing.
struct alignas(256) LoneWord {
  std::atomic<std::uint32_t> value{0};
};

/// Lies in memory that both processes and their parent map. Zeroed before each run.
struct Board {
  LoneWord ping;  // written by the ping side, read by the pong side
  LoneWord pong;
  std::array<LoneWord, 2> reached;  // the last meeting point of each side
  std::array<std::array<char, 512>, 2> failure{};

  Histogram limit_before;
  Histogram limit_after;
  Histogram rounds;
  std::uint64_t messages = 0;
  std::int64_t elapsed_ns = 0;
};

/// Owns the shared memory of the runs.
class SharedBoard {
 public:
  /// Errors: kSystem.
  [[nodiscard]] static Result<SharedBoard> create();
  SharedBoard(SharedBoard&& other) noexcept;
  SharedBoard& operator=(SharedBoard&&) = delete;
  ~SharedBoard();

  /// Makes everything zero. REQUIRES: no run.
  void clear();
  [[nodiscard]] Board& operator*() const { return *board_; }
  [[nodiscard]] Board* operator->() const { return board_; }

 private:
  explicit SharedBoard(Board* board) : board_(board) {}
  Board* board_;
};

/// The first two usable CPUs that are not threads of one core; one CPU twice if there is no other.
[[nodiscard]] Cpus default_cpus();

/// Keeps the calling process on the CPU. Errors: kInvalid (not usable).
[[nodiscard]] Result<void> pin(int cpu);

/// Where the two sides of a run wait for each other, in this order. After a limit point comes one
/// more, at its end.
inline constexpr std::uint32_t kAttached = 1;
inline constexpr std::uint32_t kLimitBefore = 2;
inline constexpr std::uint32_t kStart = 4;
inline constexpr std::uint32_t kLimitItself = 5;
inline constexpr std::uint32_t kDone = 7;
inline constexpr std::uint32_t kLimitAfter = 8;

/// Waits until the other side has come to this meeting point too.
void meet(Board& board, Side side, std::uint32_t point);

/// Runs `play` in two new processes and waits for both. If one fails, the other is killed; neither
/// outlives this process, nor `seconds` by much. Errors: what a side returned, kSystem.
[[nodiscard]] Result<void> run_pair(Board& board, double seconds,
                                    const std::function<Result<void>(Side)>& play);

}  // namespace beeline::bench
