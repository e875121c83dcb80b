#pragma once

// Whom a text means: the one rule for names, wherever they are looked up (HK-072, HK-101).
//
//   1. the newest agent of exactly that name
//   2. the agent whose pid the text is, in decimal
//   3. the newest agent whose name up to '@' it is: "queen" finds "queen@vps1"
//
// An agent that is finally dead is found only where nobody else is.

#include <charconv>
#include <cstdint>
#include <string_view>
#include <tuple>

#include <beeline/types.h>

namespace beeline::control {

/// What ends the short form of a name.
inline constexpr char kAfterShortName = '@';

/// Whether `asked` is the short form of the name `held`.
[[nodiscard]] constexpr bool matches_short_name(std::string_view held,
                                                std::string_view asked) noexcept {
  return !asked.empty() && held.size() > asked.size() && held.starts_with(asked) &&
         held[asked.size()] == kAfterShortName;
}

/// The pid that a text is in decimal, 0 for any other text.
[[nodiscard]] inline Pid pid_from(std::string_view text) noexcept {
  Pid pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  return error == std::errc() && end == text.data() + text.size() ? pid : 0;
}

/// Finds the best of the agents that it is shown, in any order. `asked` outlives it.
class NameSearch {
 public:
  explicit NameSearch(std::string_view asked) noexcept : asked_(asked), pid_(pid_from(asked)) {}

  void offer(Pid pid, std::string_view held, bool dead = false) noexcept {
    const Match match = compare(pid, held);
    if (match == Match::kNone) return;
    const Candidate candidate{!dead, match, pid};
    if (found() == 0 || candidate > best_) best_ = candidate;
  }

  /// 0 if nobody answers to it.
  [[nodiscard]] Pid found() const noexcept { return std::get<Pid>(best_); }

 private:
  enum class Match : std::uint8_t { kNone, kShort, kPid, kExact };
  using Candidate = std::tuple<bool, Match, Pid>;

  [[nodiscard]] Match compare(Pid pid, std::string_view held) const noexcept {
    if (held == asked_) return Match::kExact;
    if (pid == pid_ && pid != 0) return Match::kPid;
    return matches_short_name(held, asked_) ? Match::kShort : Match::kNone;
  }

  std::string_view asked_;
  Pid pid_;
  Candidate best_{};
};

}  // namespace beeline::control
