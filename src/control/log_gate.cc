#include "src/control/log_gate.h"

#include <algorithm>
#include <iterator>

namespace beeline::control {

namespace {

constexpr std::size_t kMostIdle =
    256;  // kinds of which nothing was left out, before they are swept

}  // namespace

bool LogGate::admits(Log& log, std::uint64_t who, std::string_view event, std::int64_t now_ns,
                     const Limit& limit) {
  const Key key(who, event);
  const Kind fresh{limit::TokenBucket(limit.per_second, limit.burst), limit.burst, 0};
  Kind& kind = kinds_.try_emplace(key, fresh).first->second;
  if (!kind.bucket.take(now_ns)) {
    ++kind.left_out;
    const std::int64_t at_ns = now_ns + kind.bucket.ns_until(now_ns);
    next_ns_ = next_ns_ == 0 ? at_ns : std::min(next_ns_, at_ns);
    return false;
  }
  say(log, key, kind);
  return true;
}

std::int64_t LogGate::settle(Log& log, std::int64_t now_ns) {
  if (now_ns < next_ns_ || (next_ns_ == 0 && kinds_.size() < kMostIdle)) return next_ns_;
  next_ns_ = 0;
  for (auto it = kinds_.begin(); it != kinds_.end();) {
    auto& [key, kind] = *it;
    if (kind.left_out != 0 && kind.bucket.take(now_ns)) say(log, key, kind);
    if (kind.left_out != 0) {
      const std::int64_t at_ns = now_ns + kind.bucket.ns_until(now_ns);
      next_ns_ = next_ns_ == 0 ? at_ns : std::min(next_ns_, at_ns);
    }
    // One that is full again is as good as none.
    it = kind.bucket.available(now_ns) == kind.burst ? kinds_.erase(it) : std::next(it);
  }
  return next_ns_;
}

void LogGate::settle_one(Log& log, std::uint64_t who) {
  auto it = kinds_.lower_bound(Key(who, std::string()));
  while (it != kinds_.end() && it->first.first == who) {
    say(log, it->first, it->second);
    it = kinds_.erase(it);
  }
}

void LogGate::settle_all(Log& log) {
  for (auto& [key, kind] : kinds_) say(log, key, kind);
}

void LogGate::say(Log& log, const Key& key, Kind& kind) {
  if (kind.left_out == 0) return;
  const auto& [who, event] = key;
  const bool is_agent = who >> 32 == 0;
  log.warn("lines_left_out", "{}={} of={} count={}", is_agent ? "agent" : "uid",
           static_cast<std::uint32_t>(who), event, kind.left_out);
  kind.left_out = 0;
}

}  // namespace beeline::control
