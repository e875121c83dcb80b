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

// Limits the log lines that agents and users can cause at will: a number of each kind for each
// agent, and for all agents of one user, because a user can make any number of agents. Otherwise a
// flood would push all other lines out of the log. Left-out lines are counted. An account of them
// is logged in one line for each kind of an agent or user, as often as the rate allows and beside
// the normal lines: a flood shows as one line now and then, with its size. Times are those of
// CLOCK_MONOTONIC. Not thread safe.
class LogGate {
 public:
  struct Rate {
    double per_second;
    std::uint32_t burst;
  };
  // The rates for one kind of line.
  struct Limit {
    Rate agent;
    Rate user;
  };
  static constexpr Limit kRefusals{{0.05, 50}, {0.2, 1000}};
  static constexpr Limit kEscalations{{0.2, 100}, {1, 1000}};
  // Lines about the life of an agent or of a connection: many begin at once in a large hive.
  static constexpr Limit kLives{{0.1, 100}, {0.2, 1000}};

  // The cause of a line: an agent, or a user without an agent.
  struct Who {
    Pid pid = kNoPid;
    uid_t uid = 0;
  };
  static constexpr uid_t kUnknownUser = static_cast<uid_t>(-1);

  // Most kinds that are remembered: for the agents of one user, for all agents, and in all. An
  // agent beyond the first two takes its lines from its user alone; users beyond the last share a
  // bucket.
  static constexpr std::size_t kMaxAgentKindsOfUser = 1024;
  static constexpr std::size_t kMaxAgentKinds = 3072;
  static constexpr std::size_t kMaxKinds = 4096;

  // True if the agent or user may cause a line of this event now. If not, counts it.
  [[nodiscard]] bool admits(Log& log, Who who, std::string_view event, std::int64_t now_ns,
                            const Limit& limit = kRefusals);

  // Gives back an allowed line that was not written.
  void give_back(Who who, std::string_view event);

  // Logs the due accounts of left-out lines, and forgets kinds with full buckets. Call it often.
  // Returns when it wants to be called, 0 for never.
  std::int64_t settle(Log& log, std::int64_t now_ns);

  // Logs the account of an agent when its life has ended; if that is not allowed now, its user's
  // account includes it later. Its buckets stay as empty as they are, so its next life gains
  // nothing.
  void settle_agent(Log& log, Who who, std::int64_t now_ns);

  // Logs all accounts at once.
  void settle_all(Log& log);

  [[nodiscard]] std::size_t size() const noexcept { return kinds_.size(); }

 private:
  using Key = std::tuple<uid_t, Pid, std::string>;  // the pid of a user's own kind is kNoPid
  struct Kind {
    explicit Kind(const Rate& rate)
        : bucket(rate.per_second, rate.burst), accounts(rate.per_second, 1), burst(rate.burst) {}

    limit::TokenBucket bucket;
    limit::TokenBucket accounts;  // for the lines of settle(), beside those of `bucket`
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
