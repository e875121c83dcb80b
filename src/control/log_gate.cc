#include "src/control/log_gate.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace beeline::control {

namespace {

constexpr std::int64_t kSweepNs = 60'000'000'000;  // between looks for those that are full again
constexpr std::int64_t kSettleNs = 1'000'000'000;  // at least between two looks at all

}  // namespace

bool LogGate::admits(Log& log, Who who, std::string_view event, std::int64_t now_ns,
                     const Limit& limit) {
  if (next_ns_ == 0) next_ns_ = now_ns + kSweepNs;
  const auto user = find_or_add({kNoPid, who.uid}, event, limit.user);
  // First: a user who has no line left makes us remember none of his agents.
  if (user->second.bucket.available(now_ns) == 0) {
    count(user->second, now_ns);
    return false;
  }
  const auto agent = who.pid == kNoPid ? user : find_or_add(who, event, limit.agent);
  if (agent != user) {
    if (!agent->second.bucket.take(now_ns)) {
      count(agent->second, now_ns);
      return false;
    }
    say(log, agent->first, agent->second);
  }
  (void)user->second.bucket.take(now_ns);
  say(log, user->first, user->second);
  return true;
}

std::int64_t LogGate::settle(Log& log, std::int64_t now_ns) {
  if (now_ns < next_ns_ || next_ns_ == 0) return next_ns_;
  next_ns_ = now_ns + kSweepNs;
  for (auto it = kinds_.begin(); it != kinds_.end();) {
    auto& [key, kind] = *it;
    if (kind.left_out != 0) settle_kind(log, key, kind, now_ns);
    // One that is full again is as good as none.
    const bool is_idle = kind.left_out == 0 && kind.bucket.available(now_ns) == kind.burst;
    it = is_idle ? kinds_.erase(it) : std::next(it);
  }
  if (kinds_.empty()) next_ns_ = 0;
  return next_ns_;
}

void LogGate::settle_agent(Log& log, Who who, std::int64_t now_ns) {
  for (auto it = kinds_.lower_bound(Key(who.uid, who.pid, std::string())); it != kinds_.end();
       ++it) {
    const auto& [uid, pid, event] = it->first;
    if (uid != who.uid || pid != who.pid) return;
    Kind* user = user_of(it->first);
    if (it->second.left_out == 0 || (user != nullptr && !user->bucket.take(now_ns))) continue;
    say(log, it->first, it->second);
  }
}

void LogGate::settle_all(Log& log) {
  for (auto& [key, kind] : kinds_) say(log, key, kind);
}

LogGate::Kinds::iterator LogGate::find_or_add(Who who, std::string_view event, const Rate& rate) {
  Key key(who.uid, who.pid, event);
  if (const auto known = kinds_.find(key); known != kinds_.end()) return known;
  if (kinds_.size() >= kMaxKinds) key = Key(kUnknownUser, kNoPid, event);
  const Kind fresh{limit::TokenBucket(rate.per_second, rate.burst), rate.burst, 0};
  return kinds_.try_emplace(std::move(key), fresh).first;
}

/// What the user of an agent may still cause; null for a user himself.
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

/// settle() is to be called again when there is a line for this kind.
void LogGate::wait_for_line(Kind& kind, std::int64_t now_ns) {
  const std::int64_t wait_ns = std::max(kSettleNs, kind.bucket.ns_until(now_ns));
  next_ns_ = std::min(next_ns_, now_ns + wait_ns);
}

void LogGate::settle_kind(Log& log, const Key& key, Kind& kind, std::int64_t now_ns) {
  Kind* user = user_of(key);
  const bool user_may = user == nullptr || user->bucket.available(now_ns) != 0;
  if (!user_may) {
    // One line of the user stands for those of all his agents.
    user->left_out += std::exchange(kind.left_out, 0);
    wait_for_line(*user, now_ns);
  } else if (kind.bucket.take(now_ns)) {
    if (user != nullptr) (void)user->bucket.take(now_ns);
    say(log, key, kind);
  } else {
    wait_for_line(kind, now_ns);
  }
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
