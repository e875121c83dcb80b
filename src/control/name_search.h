#pragma once

// Finds the agent that a text means: the one rule for names, used by every look-up.
//
//   1. a text of digits alone: the agent of that pid, and no other
//   2. the newest agent of exactly that name
//   3. the newest agent of the same user, by its name up to '@': "queen" finds "queen@vps1"
//
// An agent that is finally dead is found only if no other matches. The short form finds only agents
// of the asking user: another user could take a name that begins like that of a missing agent.

#include <sys/types.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

#include <beeline/types.h>

namespace beeline::control {

// Ends the short form of a name.
inline constexpr char kAfterShortName = '@';

// True if `asked` is the short form of the name `held`.
[[nodiscard]] constexpr bool matches_short_name(std::string_view held,
                                                std::string_view asked) noexcept {
  return !asked.empty() && held.size() > asked.size() && held.starts_with(asked) &&
         held[asked.size()] == kAfterShortName;
}

// True if a text means a pid: no agent has such a name (names.h).
[[nodiscard]] constexpr bool is_number(std::string_view text) noexcept {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// The pid that a text is in decimal, 0 for any other text.
[[nodiscard]] inline Pid pid_from(std::string_view text) noexcept {
  Pid pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  return error == std::errc() && end == text.data() + text.size() ? pid : 0;
}

// The pid that a text means as a receiver: that of a number, 0 for an empty text; nothing for a
// name, or for a number that cannot be a pid.
[[nodiscard]] inline std::optional<Pid> number_from(std::string_view text) noexcept {
  const bool is_zero = text.find_first_not_of('0') == std::string_view::npos;
  const Pid pid = pid_from(text);
  if (is_zero || (is_number(text) && pid != 0)) return pid;
  return std::nullopt;
}

// Finds the best of the agents that it is shown, in any order. `asked` must outlive it; `user` is
// the asking user.
class NameSearch {
 public:
  NameSearch(std::string_view asked, uid_t user) noexcept
      : asked_(asked), is_number_(is_number(asked)), pid_(pid_from(asked)), user_(user) {}

  void offer(Pid pid, std::string_view held, uid_t user, bool dead = false) noexcept {
    const Match match = compare(pid, held, user);
    if (match == Match::kNone) return;
    const Candidate candidate{!dead, match, pid};
    if (found() == 0 || candidate > best_) best_ = candidate;
  }

  // 0 if no agent matches.
  [[nodiscard]] Pid found() const noexcept { return std::get<Pid>(best_); }

 private:
  enum class Match : std::uint8_t { kNone, kShort, kExact };
  using Candidate = std::tuple<bool, Match, Pid>;

  [[nodiscard]] Match compare(Pid pid, std::string_view held, uid_t user) const noexcept {
    if (is_number_) return pid == pid_ && pid != 0 ? Match::kExact : Match::kNone;
    if (held == asked_) return Match::kExact;
    return user == user_ && matches_short_name(held, asked_) ? Match::kShort : Match::kNone;
  }

  std::string_view asked_;
  bool is_number_;
  Pid pid_;
  uid_t user_;
  Candidate best_{};
};

}  // namespace beeline::control
