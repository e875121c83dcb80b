#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "src/control/log.h"
#include "src/limit/token_bucket.h"

namespace beeline::control {

/// Lines of the log that an agent causes at will: so many of each kind and each agent, else one of
/// them could write all others, and its own, out of the log. What was left out is counted and said.
/// Times are those of CLOCK_MONOTONIC.
class LogGate {
 public:
  /// How many lines of a kind.
  struct Limit {
    double per_second;
    std::uint32_t burst;
  };
  static constexpr Limit kRefusals{0.05, 50};
  static constexpr Limit kEscalations{0.2, 100};

  /// May `who` (see who()) cause a line of this event now? If not, it is counted.
  [[nodiscard]] bool admits(Log& log, std::uint64_t who, std::string_view event,
                            std::int64_t now_ns, const Limit& limit = kRefusals);

  /// Says what was left out of those who may cause lines again. To be called often. Returns when
  /// there is more to say, 0 if there is nothing.
  std::int64_t settle(Log& log, std::int64_t now_ns);

  /// Says all at once: of one who has ended, and of everybody.
  void settle_one(Log& log, std::uint64_t who);
  void settle_all(Log& log);

  /// Agents are told apart by their pid, all others by their user.
  [[nodiscard]] static std::uint64_t who(std::uint32_t pid, std::uint32_t uid) {
    return pid != 0 ? pid : std::uint64_t{1} << 32 | uid;
  }

 private:
  struct Kind {
    limit::TokenBucket bucket;
    std::uint32_t burst = 0;
    std::uint64_t left_out = 0;
  };
  using Key = std::pair<std::uint64_t, std::string>;

  static void say(Log& log, const Key& key, Kind& kind);

  std::map<Key, Kind> kinds_;
  std::int64_t next_ns_ = 0;  // when something is to be said, 0 = nothing
};

}  // namespace beeline::control
