#pragma once

// Everything that the buffer sends. It waits for no receiver: a letter that finds no room is tried
// again.

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/agent.h>
#include <beeline/result.h>

#include "src/buffer/service/alarms.h"
#include "src/buffer/service/orders.h"

namespace beeline::buffer {

inline constexpr Pid kSteward = 1;
// For waits that have no end of their own.
inline constexpr std::chrono::hours kNoLimit(24 * 365);

class Post {
 public:
  using Failed = std::function<void(const Error& error)>;

  // Both outlive this object.
  Post(Agent& agent, Alarms& alarms) : agent_(agent), alarms_(alarms) {}

  // Answers a message and ends it. `lost` is called if its sender cannot get the answer any more.
  // An answer that is too big for a message becomes an error.
  void answer(Lease lease, std::string text, std::function<void()> lost = {});

  // A letter to an agent, which may have no link yet.
  struct Letter {
    Pid to = 0;
    Deadline until{};  // of the tries
    std::function<Result<void>(Peer to)> send{};
    Failed failed{};  // called once if it was not sent
  };
  void start(Letter letter);
  // Sends a request to pid 1. `then` is called once.
  void ask_steward(std::string_view type, std::string text, std::chrono::milliseconds patience,
                   std::function<void(Result<std::string>)> then);

  // Takes the links that were found.
  void hear_peers();
  // At the alarm.
  void try_again();
  [[nodiscard]] bool is_idle() const {
    return unlinked_.empty() && letters_.empty() && answers_.empty();
  }

 private:
  struct Waiting {
    Letter letter;
    Peer peer{};  // invalid: there is no link yet
  };
  struct Answer {
    Lease lease;
    std::string text;
    std::function<void()> lost;
  };
  // False: there is no room, try again.
  [[nodiscard]] bool try_answer(Answer& answer);
  void try_letter(Waiting waiting);
  [[nodiscard]] static bool may_try_again(const Error& error, const Letter& letter);
  void wait_for_room();

  Agent& agent_;
  Alarms& alarms_;
  std::map<CallId, Letter> unlinked_{};  // wait for a link
  std::vector<Waiting> letters_{};       // wait for room
  std::vector<Answer> answers_{};        // wait for room
};

}  // namespace beeline::buffer
