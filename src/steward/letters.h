#pragma once

// Everything that pid 1 sends: answers, and messages of its own. It waits for no receiver: a letter
// that finds no room is tried again.

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include <beeline/agent.h>

#include "src/steward/alarms.h"

namespace beeline::steward {

class Letters {
 public:
  // Both outlive this object.
  Letters(Agent& agent, Alarms& alarms) : agent_(agent), alarms_(alarms) {}

  // Answers a message and ends it. A receiver that has ended loses its answer.
  void answer(Message message, std::string text);
  // Sends a message to an agent; gives up at the end of `patience`.
  void send(Pid to, std::string type, std::string text, std::chrono::milliseconds patience);
  // Sends the control message `shutdown`. `failed` is called if it cannot be sent.
  void send_shutdown(Pid to, std::function<void()> failed);

  // Goes on with everything that waits for a link or for room.
  void run();

 private:
  struct Letter {
    Pid to = 0;
    std::string type{};
    std::string text{};
    bool is_shutdown = false;
    Deadline until{};
    std::function<void()> failed{};
  };
  struct Answer {
    Message message;
    std::string text;
  };
  void start(Letter letter);
  // False: there is no room, try again.
  [[nodiscard]] bool try_send(Letter& letter);
  [[nodiscard]] bool try_answer(Answer& answer);
  void drop(const Letter& letter, const std::string& reason);
  void ask_again();

  Agent& agent_;
  Alarms& alarms_;
  std::map<CallId, Letter> unlinked_;  // wait for a link
  std::deque<Letter> letters_;         // wait for room
  std::deque<Answer> answers_;         // wait for room
};

}  // namespace beeline::steward
