#pragma once
// The fixture of tests that kill: it restarts players that have ended, keeps the seed of all
// randomness, and waits until the ledger misses nothing.
//
// BEELINE_SEED sets the seed that is printed; BEELINE_SOAK=1 asks for the long form.

#include <sys/types.h>

#include <array>
#include <deque>
#include <random>
#include <string>
#include <utility>

#include "tests/fault/ledger.h"
#include "tests/support/hive_test.h"
#include "tests/support/soak.h"

namespace beeline::test {

// The exit status of a player that could not join the hive because the coordinator was killed
// meanwhile; it is started again.
inline constexpr int kExitAgain = 75;

// The exit status of a visitor that has sent its messages. It goes without a word, as if it were
// killed.
inline constexpr int kExitVisited = 76;

using Random = std::mt19937_64;

class FaultTest : public HiveTest {
 protected:
  // A hive, a board, a seed. `ledger` lies in the board.
  void start_faults(const std::string& program, std::chrono::seconds limit,
                    std::size_t board_bytes);
  void TearDown() override;

  [[nodiscard]] virtual Ledger& ledger() = 0;
  // Whether a visitor that has gone comes again.
  [[nodiscard]] virtual bool visitors_return() const { return false; }

  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  [[nodiscard]] Random& random() { return random_; }
  [[nodiscard]] int coordinators() const { return coordinators_; }
  [[nodiscard]] int failed_joins() const { return failed_joins_; }
  [[nodiscard]] int visits() const { return visits_; }

  void note(const std::string& event);
  static std::string name_of(std::size_t place) { return "player-" + std::to_string(place); }

  // Kills with SIGKILL and starts the role of this place again. False if nobody is there now.
  bool kill_player(std::size_t place);
  bool kill_coordinator();

  // Restarts players that could not join, for `time`. Any other end is a failure, unless `may_end`.
  void attend(std::chrono::nanoseconds time, bool may_end);
  template <typename Condition>
  void attend_until(Condition&& condition) {
    attend_until(std::forward<Condition>(condition), [] { return "players do not answer"; });
  }
  // `why_not` returns the reason for the wait, for the deadline.
  template <typename Condition, typename Text>
  void attend_until(Condition&& condition, Text&& why_not) {
    const Deadline deadline = patience();
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << why_not();
      ASSERT_NO_FATAL_FAILURE(attend(5ms, false));
    }
  }
  // Waits until all accepted messages have ended; at the deadline it fails with the others.
  void await_all_finished();
  void await_ends();
  // Fails with every fault in the ledger.
  void expect_no_fault();
  // The fate of a message, and the last faults of its sender and receiver.
  [[nodiscard]] std::string story(std::uint32_t sender, std::uint32_t receiver,
                                  std::uint64_t sequence);

 private:
  void player_ended(std::size_t place, bool may_end);
  void expect_few_half_ended();
  void tell();

  std::string program_;
  std::uint64_t seed_ = 0;
  Random random_;
  std::deque<std::string> events_;                  // the newest comes last; the oldest are dropped
  std::array<std::uint64_t, kMaxPlayers> kills_{};  // by place
  int failed_joins_ = 0;
  int visits_ = 0;
  int coordinators_ = 0;
};

}  // namespace beeline::test
