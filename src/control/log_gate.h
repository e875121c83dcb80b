#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "src/control/log.h"
#include "src/control/tree.h"
#include "src/limit/token_bucket.h"

namespace beeline::control {

/// Lines of the log that others cause at will: so many of each kind for each agent, and for all
/// that one user runs, who can make as many agents as he likes. Else one of them could write all
/// others, and his own, out of the log. What was left out is counted and said, in one line of each
/// agent or user and kind, as often as lines are allowed beyond the burst and beside them: who
/// floods has a line now and then all the time, and what it says of him. Times are those of
/// CLOCK_MONOTONIC. Not thread safe.
class LogGate {
 public:
  struct Rate {
    double per_second;
    std::uint32_t burst;
  };
  /// How many lines of a kind.
  struct Limit {
    Rate agent;
    Rate user;
  };
  static constexpr Limit kRefusals{{0.05, 50}, {0.2, 1000}};
  static constexpr Limit kEscalations{{0.2, 100}, {1, 1000}};
  /// What belongs to the life of an agent or of a connection: many begin at once in a large hive.
  static constexpr Limit kLives{{0.1, 100}, {0.2, 1000}};

  /// Who causes a line: an agent, or a user who is none.
  struct Who {
    Pid pid = kNoPid;
    uid_t uid = 0;
  };
  static constexpr uid_t kUnknownUser = static_cast<uid_t>(-1);

  /// Kinds that are remembered at most. Of the agents of one user, and of all agents, so many: a
  /// further one takes its lines from its user alone. Of all so many: further users share a bucket.
  static constexpr std::size_t kMaxAgentKindsOfUser = 1024;
  static constexpr std::size_t kMaxAgentKinds = 3072;
  static constexpr std::size_t kMaxKinds = 4096;

  /// May `who` cause a line of this event now? If not, it is counted.
  [[nodiscard]] bool admits(Log& log, Who who, std::string_view event, std::int64_t now_ns,
                            const Limit& limit = kRefusals);

  /// The line that `who` was allowed was not written.
  void give_back(Who who, std::string_view event);

  /// Says what was left out, and forgets whose bucket is full again. To be called often. Returns
  /// when it wants to be called, 0 for never.
  std::int64_t settle(Log& log, std::int64_t now_ns);

  /// Says what was left out of an agent whose life has ended; or his user does later. Its buckets
  /// stay as empty as they are: its next life gets no more for it.
  void settle_agent(Log& log, Who who, std::int64_t now_ns);

  /// Says all at once.
  void settle_all(Log& log);

  [[nodiscard]] std::size_t size() const noexcept { return kinds_.size(); }

 private:
  using Key = std::tuple<uid_t, Pid, std::string>;  // the pid of a user's own is kNoPid
  struct Kind {
    explicit Kind(const Rate& rate)
        : bucket(rate.per_second, rate.burst), accounts(rate.per_second, 1), burst(rate.burst) {}

    limit::TokenBucket bucket;
    limit::TokenBucket accounts;  // for the lines of settle(), which take nothing from the others
    std::uint32_t burst = 0;
    std::uint64_t left_out = 0;
    [[nodiscard]] bool is_idle(std::int64_t now_ns) const {
      return left_out == 0 && bucket.available(now_ns) == burst && accounts.available(now_ns) != 0;
    }
  };
  using Kinds = std::map<Key, Kind>;

  Kinds::iterator find_or_add_user(uid_t uid, std::string_view event, const Rate& rate);
  Kinds::iterator find_or_add_agent(Who who, std::string_view event, const Rate& rate);
  Kinds::iterator forget(Kinds::iterator kind);
  Kind* user_of(const Key& key);
  void count(Kind& kind, std::int64_t now_ns);
  void wait_for_line(Kind& kind, std::int64_t now_ns);
  void settle_kind(Log& log, const Key& key, Kind& kind, std::int64_t now_ns);
  static void say_beside(Log& log, const Key& key, Kind& kind, std::int64_t now_ns);
  static void say(Log& log, const Key& key, Kind& kind);

  Kinds kinds_;
  std::map<uid_t, std::size_t> agent_kinds_of_;
  std::size_t agent_kinds_ = 0;
  std::int64_t next_ns_ = 0;  // when settle() has something to do, 0 = never
};

}  // namespace beeline::control
