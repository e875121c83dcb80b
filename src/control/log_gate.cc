#include "src/control/log_gate.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace beeline::control {

namespace {

constexpr std::int64_t kSweepNs = 60'000'000'000;  // between sweeps for idle kinds
constexpr std::int64_t kSettleNs = 1'000'000'000;  // at least between two calls of settle() that do
                                                   // something

}  // namespace

bool LogGate::admits(Log& log, Who who, std::string_view event, std::int64_t now_ns,
                     const Limit& limit) {
  if (next_ns_ == 0) next_ns_ = now_ns + kSweepNs;
  const auto user = find_or_add_user(who.uid, event, limit.user);
  // First, so that we remember no agent of a user without a line left.
  if (user->second.bucket.available(now_ns) == 0) {
    count(user->second, now_ns);
    return false;
  }
  const auto agent = who.pid == kNoPid ? kinds_.end() : find_or_add_agent(who, event, limit.agent);
  if (agent != kinds_.end()) {
    if (!agent->second.bucket.take(now_ns)) {
      count(agent->second, now_ns);
      return false;
    }
    say_beside(log, agent->first, agent->second, now_ns);
  }
  (void)user->second.bucket.take(now_ns);
  say_beside(log, user->first, user->second, now_ns);
  return true;
}

void LogGate::give_back(Who who, std::string_view event) {
  for (const Pid pid : {who.pid, kNoPid}) {
    const auto known = kinds_.find(Key(who.uid, pid, event));
    if (known != kinds_.end()) known->second.bucket.give_back();
    if (pid == kNoPid) return;
  }
}

std::int64_t LogGate::settle(Log& log, std::int64_t now_ns) {
  if (now_ns < next_ns_ || next_ns_ == 0) return next_ns_;
  next_ns_ = now_ns + kSweepNs;
  for (auto it = kinds_.begin(); it != kinds_.end();) {
    if (it->second.left_out != 0) settle_kind(log, it->first, it->second, now_ns);
    // A kind with full buckets is the same as none.
    it = it->second.is_idle(now_ns) ? forget(it) : std::next(it);
  }
  if (kinds_.empty()) next_ns_ = 0;
  return next_ns_;
}

void LogGate::settle_agent(Log& log, Who who, std::int64_t now_ns) {
  for (auto it = kinds_.lower_bound(Key(who.uid, who.pid, std::string())); it != kinds_.end();
       ++it) {
    const auto& [uid, pid, event] = it->first;
    if (uid != who.uid || pid != who.pid) return;
    if (it->second.left_out != 0) settle_kind(log, it->first, it->second, now_ns);
  }
}

void LogGate::settle_all(Log& log) {
  for (auto& [key, kind] : kinds_) say(log, key, kind);
}

LogGate::Kinds::iterator LogGate::find_or_add_user(uid_t uid, std::string_view event,
                                                   const Rate& rate) {
  Key key(uid, kNoPid, event);
  if (const auto known = kinds_.find(key); known != kinds_.end()) return known;
  if (kinds_.size() >= kMaxKinds) key = Key(kUnknownUser, kNoPid, event);
  return kinds_.try_emplace(std::move(key), Kind(rate)).first;
}

// The kind of an agent; kinds_.end() if there is no room for another one.
LogGate::Kinds::iterator LogGate::find_or_add_agent(Who who, std::string_view event,
                                                    const Rate& rate) {
  Key key(who.uid, who.pid, event);
  if (const auto known = kinds_.find(key); known != kinds_.end()) return known;
  const auto of_user = agent_kinds_of_.find(who.uid);
  const std::size_t count = of_user == agent_kinds_of_.end() ? 0 : of_user->second;
  const bool full = agent_kinds_ >= kMaxAgentKinds || kinds_.size() >= kMaxKinds;
  if (full || count >= kMaxAgentKindsOfUser) return kinds_.end();
  ++agent_kinds_;
  ++agent_kinds_of_[who.uid];
  return kinds_.try_emplace(std::move(key), Kind(rate)).first;
}

LogGate::Kinds::iterator LogGate::forget(Kinds::iterator kind) {
  const auto& [uid, pid, event] = kind->first;
  if (pid != kNoPid) {
    --agent_kinds_;
    const auto of_user = agent_kinds_of_.find(uid);
    if (--of_user->second == 0) agent_kinds_of_.erase(of_user);
  }
  return kinds_.erase(kind);
}

// The kind of an agent's user; null for a kind that is a user's own.
LogGate::Kind* LogGate::user_of(const Key& key) {
  const auto& [uid, pid, event] = key;
  if (pid == kNoPid) return nullptr;
  const auto found = kinds_.find(Key(uid, kNoPid, event));
  return found == kinds_.end() ? nullptr : &found->second;
}

void LogGate::count(Kind& kind, std::int64_t now_ns) {
  ++kind.left_out;
  wait_for_line(kind, now_ns);
}

// Plans settle() for the moment when this kind may have a line for its account.
void LogGate::wait_for_line(Kind& kind, std::int64_t now_ns) {
  const std::int64_t wait_ns = std::max(kSettleNs, kind.accounts.ns_until(now_ns));
  next_ns_ = std::min(next_ns_, now_ns + wait_ns);
}

void LogGate::settle_kind(Log& log, const Key& key, Kind& kind, std::int64_t now_ns) {
  Kind* user = user_of(key);
  const bool user_may = user == nullptr || user->accounts.available(now_ns) != 0;
  if (!user_may) {
    // One line of the user stands for those of all its agents.
    user->left_out += std::exchange(kind.left_out, 0);
    wait_for_line(*user, now_ns);
  } else if (kind.accounts.take(now_ns)) {
    if (user != nullptr) (void)user->accounts.take(now_ns);
    say(log, key, kind);
  } else {
    wait_for_line(kind, now_ns);
  }
}

// Says the account together with a line that is written, so that settle() need not.
void LogGate::say_beside(Log& log, const Key& key, Kind& kind, std::int64_t now_ns) {
  if (kind.left_out == 0) return;
  (void)kind.accounts.take(now_ns);
  say(log, key, kind);
}

void LogGate::say(Log& log, const Key& key, Kind& kind) {
  if (kind.left_out == 0) return;
  const auto& [uid, pid, event] = key;
  const std::string who = pid != kNoPid         ? fmt::format("agent={}", pid)
                          : uid != kUnknownUser ? fmt::format("uid={}", uid)
                                                : std::string("uid=any");
  log.warn("lines_left_out", "{} of={} count={}", who, event, kind.left_out);
  kind.left_out = 0;
}

}  // namespace beeline::control
