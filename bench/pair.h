#pragma once
// The processes of a run, each on its CPU, and the memory that they share for the measurement
// itself: the words of the limit, their meeting points, and their results. Mostly two; more if many
// send to one.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include <beeline/result.h>

#include "bench/case.h"
#include "bench/histogram.h"
#include "bench/windows.h"
#include "src/os/fd.h"

namespace beeline::bench {

inline constexpr std::size_t kMostMembers = 64;

// A word with cache lines of its own.
struct alignas(256) LoneWord {
  std::atomic<std::uint32_t> value{0};
};

// Lies in memory that all processes of a run and their parent map. Made anew before each run.
struct Board {
  LoneWord ping;  // written by the ping side, read by the pong side
  LoneWord pong;
  LoneWord order;     // written by the ping side: the next order to the others
  LoneWord arrivals;  // rises with each arrival at a meeting point, if more than two meet
  std::array<LoneWord, kMostMembers> calls;    // written by the ping side, each for one other side
  std::array<LoneWord, kMostMembers> reached;  // the last meeting point of each side
  std::array<std::array<char, 512>, kMostMembers> failure{};

  std::size_t members = 2;            // processes of this run
  std::array<int, 2> events{-1, -1};  // eventfds, read by ping and by pong; the same in all
                                      // processes

  Histogram limit_before;
  Histogram limit_after;
  Histogram rounds;
  Histogram late;    // for messages that were due at a fixed time
  Histogram copies;  // bare copies, if the limit is memory: see time_copies()
  std::uint64_t messages = 0;
  std::array<std::uint64_t, kMostMembers> counts{};  // messages of each side, if all sides send
  std::int64_t elapsed_ns = 0;
  Windows windows;  // for messages that were timed together
  std::uint64_t clock_ns = 0;
  std::uint64_t looks = 0;      // a sample of the looks that found messages in a lane
  std::uint64_t looked_at = 0;  // messages that these looks took
};

// Owns the shared memory of the runs, and the eventfds of their limit.
class SharedBoard {
 public:
  // Errors: kSystem.
  [[nodiscard]] static Result<SharedBoard> create();
  SharedBoard(SharedBoard&& other) noexcept;
  SharedBoard& operator=(SharedBoard&&) = delete;
  ~SharedBoard();

  // Makes all of it anew, for a run of this many processes. REQUIRES: no run, 1 <= members <=
  // kMostMembers.
  void clear(std::size_t members = 2);
  [[nodiscard]] Board& operator*() const { return *board_; }
  [[nodiscard]] Board* operator->() const { return board_; }

 private:
  SharedBoard(Board* board, os::UniqueFd ping, os::UniqueFd pong)
      : board_(board), events_{std::move(ping), std::move(pong)} {}
  Board* board_;
  std::array<os::UniqueFd, 2> events_;
};

// Usable CPUs of different cores, the lowest first, as far as there are any; one CPU twice if
// there is no other.
[[nodiscard]] Cpus default_cpus();

// Keeps the calling process on the CPU. Errors: kInvalid (not usable).
[[nodiscard]] Result<void> pin(int cpu);

// The meeting points of a run, in this order. A limit point is followed by one more, at its end.
inline constexpr std::uint32_t kAttached = 1;
inline constexpr std::uint32_t kLimitBefore = 2;
inline constexpr std::uint32_t kStart = 4;
inline constexpr std::uint32_t kLimitItself = 5;
inline constexpr std::uint32_t kDone = 7;
inline constexpr std::uint32_t kLimitAfter = 8;

// Waits until all others have reached this meeting point too. Two wait awake; more of them sleep,
// because they may share a CPU.
void meet(Board& board, Side side, std::uint32_t point);

// Runs `play` in new processes, as many as Board::members, and waits for all. If one fails, the
// others are killed. None outlives this process, nor `seconds` by much. Errors: that of a side,
// kSystem.
[[nodiscard]] Result<void> run_pair(Board& board, double seconds,
                                    const std::function<Result<void>(Side)>& play);

}  // namespace beeline::bench
