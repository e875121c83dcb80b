#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>

namespace beeline::control {

// The connections that have something to say, in the order of their turns: users take turns, and
// of each user the connection that waits longest goes first. So a user with thousands of
// connections counts as much as a user with one. Not thread safe.
class Turns {
 public:
  void add(uid_t user, std::uint64_t connection) {
    std::deque<std::uint64_t>& waiting = waiting_[user];
    if (waiting.empty()) users_.push_back(user);
    waiting.push_back(connection);
    ++size_;
  }

  // The next connection, which waits no longer; none if none waits.
  [[nodiscard]] std::optional<std::uint64_t> next() {
    if (users_.empty()) return std::nullopt;
    const uid_t user = users_.front();
    users_.pop_front();
    const auto found = waiting_.find(user);
    const std::uint64_t connection = found->second.front();
    found->second.pop_front();
    --size_;
    if (found->second.empty()) {
      waiting_.erase(found);
    } else {
      users_.push_back(user);
    }
    return connection;
  }

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::map<uid_t, std::deque<std::uint64_t>> waiting_;
  std::deque<uid_t> users_;  // users with waiting connections, in turn
  std::size_t size_ = 0;
};

}  // namespace beeline::control
