#pragma once
// The answers to requests for which no call waits: which of them are to come, and those that have.

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "src/control/wire.h"
#include "src/os/fd.h"

namespace beeline::control {

// An answer that is not typed yet, with its descriptors.
struct RawAnswer {
  Answer answer;
  std::vector<os::UniqueFd> fds;
};

class PendingAnswers {
 public:
  void expect(std::uint64_t seq) { answers_.try_emplace(seq); }
  // False: nobody expects it.
  bool keep(std::uint64_t seq, RawAnswer&& answer) {
    const auto found = answers_.find(seq);
    if (found == answers_.end()) return false;
    found->second = std::move(answer);
    return true;
  }
  // It is expected, whether it has come or not.
  [[nodiscard]] bool contains(std::uint64_t seq) const { return answers_.contains(seq); }
  // The answer, once; nothing while it is to come.
  [[nodiscard]] std::optional<RawAnswer> take(std::uint64_t seq) {
    const auto found = answers_.find(seq);
    if (found == answers_.end() || !found->second) return std::nullopt;
    std::optional<RawAnswer> taken = std::move(found->second);
    answers_.erase(found);
    return taken;
  }
  void forget(std::uint64_t seq) { answers_.erase(seq); }
  // The connection has ended.
  void clear() { answers_.clear(); }

 private:
  std::map<std::uint64_t, std::optional<RawAnswer>> answers_;
};

}  // namespace beeline::control
