#pragma once
// The waits of an owner.

#include <beeline/c.h>

#include <algorithm>
#include <cstdint>

#include "bindings/python/core/attachment.h"
#include "bindings/python/core/released.h"
#include "bindings/python/core/signals_held.h"

namespace beeline::python {

// One wait: spins as the agent was attached, then sleeps on the agent's descriptor, all of it
// without the GIL. It ends with an exception when a signal handler raises one or closes the agent.
class Wait {
 public:
  Wait(Attachment& agent, std::int64_t timeout_ns);

  // The outcome of an attempt.
  enum class Turn : std::uint8_t {
    kDone,  // no more waiting
    kAgain  // nothing yet
  };

  [[nodiscard]] bool is_over() const { return left() == 0; }

  // Without the GIL, for the spins of attempts: polls until `is_there` likes a report or so many
  // nanoseconds are over.
  template <typename IsThere>
  static void poll_until(Attachment& agent, std::int64_t ns, IsThere is_there);

  // Calls `attempt(ns)` until it is done or the time is over. It tries once with the time 0, and
  // spins without the GIL for a time above 0. `has_news` gets each report of beeline_poll() and
  // says whether another attempt may help now. False: an exception is set.
  template <typename Attempt, typename HasNews>
  [[nodiscard]] bool run(Attempt attempt, HasNews has_news);

  // The same for a call of the library that poll() does not know: calls `attempt(ns)` without the
  // GIL, for a short time each, so that signals are seen.
  template <typename Attempt>
  [[nodiscard]] bool run_in_slices(Attempt attempt);

  [[nodiscard]] std::int64_t left() const;

 private:
  static constexpr std::int64_t kSliceOfSleepNs = 20'000'000;

  // The time of the next spin; 0 where the agent sleeps now.
  [[nodiscard]] std::int64_t spin_ns();
  // Runs handlers of signals. False: an exception is set.
  [[nodiscard]] bool check_signals();
  [[nodiscard]] bool poll(beeline_readiness& found);
  // Nothing comes any more. False: an exception is set.
  [[nodiscard]] bool refuse_end();

  Attachment& agent_;
  std::int64_t end_ns_;  // of the monotonic clock
  bool has_spun_ = false;
};

template <typename IsThere>
void Wait::poll_until(Attachment& agent, std::int64_t ns, IsThere is_there) {
  const Wait wait(agent, ns);
  if (ns == 0) return;
  beeline_readiness found;
  found.size = sizeof found;
  while (beeline_poll(agent.handle(), &found) == BEELINE_OK && !is_there(found) &&
         !wait.is_over()) {
  }
}

template <typename Attempt, typename HasNews>
bool Wait::run(Attempt attempt, HasNews has_news) {
  while (true) {
    if (attempt(0) == Turn::kDone) return true;
    if (left() == 0) return true;
    if (const std::int64_t ns = spin_ns(); ns > 0) {
      Turn turn{};
      {
        const Released released;
        turn = attempt(ns);
      }
      if (turn == Turn::kDone) return true;
    } else {
      const SignalsHeld held;
      // A handler may call the agent, so this comes before the poll.
      beeline_readiness found;
      if (!check_signals() || !poll(found)) return false;
      if (found.ended) return attempt(0) == Turn::kDone || refuse_end();
      if (!has_news(found)) {
        held.sleep(beeline_fd(agent_.handle()), std::min(left(), found.next_ns));
      }
    }
    if (!check_signals()) return false;
  }
}

template <typename Attempt>
bool Wait::run_in_slices(Attempt attempt) {
  std::int64_t ns = 0;
  while (true) {
    Turn turn{};
    {
      const Released released;
      turn = attempt(ns);
    }
    ns = std::min(left(), kSliceOfSleepNs);
    if (turn == Turn::kDone || ns == 0) return true;
    if (!check_signals()) return false;
  }
}

// Calls `send(ns)` until it finds room or fails in another way. It sets `code` each time. False:
// an exception is set, and `code` may say anything.
template <typename Send>
[[nodiscard]] bool wait_for_room(Attachment& agent, beeline_peer peer, std::int64_t timeout_ns,
                                 std::size_t bytes, const beeline_code& code, Send send) {
  bool wants = false;
  const auto attempt = [&](std::int64_t ns) {
    if (ns == 0) {
      copying(bytes, [&] { send(0); });
    } else {
      send(ns);
    }
    if (code != BEELINE_FULL && code != BEELINE_RATE_LIMITED) return Wait::Turn::kDone;
    wants = beeline_want_space(agent.handle(), peer, true) == BEELINE_OK;
    return Wait::Turn::kAgain;
  };
  const auto has_news = [&](const beeline_readiness& found) {
    beeline_peer next{};
    for (std::size_t at = 0; at < found.spaces; ++at) {
      (void)beeline_next_space(agent.handle(), &next);
    }
    return found.spaces > 0;
  };
  const bool is_good = Wait(agent, timeout_ns).run(attempt, has_news);
  if (wants && !agent.is_closed()) (void)beeline_want_space(agent.handle(), peer, false);
  return is_good;
}

}  // namespace beeline::python
