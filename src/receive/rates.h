#pragma once
// How much is taken from each sender, by the sender's name: a sender that comes back under the same
// name finds its bucket as its last life has left it. A new life of the receiver starts with full
// ones.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "src/limit/token_bucket.h"

namespace beeline::receive {

class Rates {
 public:
  // Buckets of senders that have no link now. Beyond that the fullest go first: they are the ones
  // whose owners gain the least by a new one.
  static constexpr std::size_t kMostIdle = 1024;

  // Off: nobody has a bucket.
  Rates() = default;
  // `full`: the bucket of a sender that was never seen.
  explicit Rates(const limit::TokenBucket& full) : full_(full) {}

  [[nodiscard]] bool on() const { return full_.on(); }
  // The bucket of this sender, shared by all its links; null when off. `now_ns`: coarse clock.
  [[nodiscard]] std::shared_ptr<limit::TokenBucket> of(const std::string& name,
                                                       std::int64_t now_ns);
  [[nodiscard]] std::size_t count() const { return buckets_.size(); }

 private:
  void forget_idle(std::int64_t now_ns);

  limit::TokenBucket full_;
  std::unordered_map<std::string, std::shared_ptr<limit::TokenBucket>> buckets_;
};

}  // namespace beeline::receive
