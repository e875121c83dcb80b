#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include <beeline/spool.h>

namespace beeline::spool {

// The place of a task in the order of claims.
struct ClaimKey {
  std::int64_t lower = 0;  // the negated priority; 0 in every task of a plain FIFO
  std::int64_t created_at = 0;
  std::int64_t sequence = 0;
  std::string id;
  friend auto operator<=>(const ClaimKey&, const ClaimKey&) = default;
};

[[nodiscard]] ClaimKey key_of(const Task& task, ClaimOrder order);

// The tasks in inbox/ as this process knows them, best first. Another process may have taken one.
class InboxIndex {
 public:
  // Replaces the task of the same id.
  void put(ClaimKey key);
  void erase(std::string_view id);
  [[nodiscard]] bool has(std::string_view id) const { return places_.contains(std::string(id)); }
  [[nodiscard]] bool empty() const { return keys_.empty(); }
  // REQUIRES: not empty().
  [[nodiscard]] const ClaimKey& best() const { return *keys_.begin(); }
  [[nodiscard]] const std::set<ClaimKey>& keys() const { return keys_; }

 private:
  std::set<ClaimKey> keys_;
  std::unordered_map<std::string, std::set<ClaimKey>::iterator> places_;
};

}  // namespace beeline::spool
