#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <beeline/agent.h>

#include "tools/beeline/output.h"
#include "tools/beeline/pipe_command.h"
#include "tools/beeline/pipe_lines.h"

namespace beeline::cli {

// An agent that a program drives by commands. It keeps the messages that the program holds, and
// the commands that have no result yet. Each command gets one result; everything else is reported
// as an event.
class PipeSession {
 public:
  // `output` must outlive the session.
  PipeSession(Agent agent, PipeOutput& output);
  // Handlers of the agent refer to this object, so it cannot be copied.
  PipeSession(const PipeSession&) = delete;
  PipeSession& operator=(const PipeSession&) = delete;

  void carry_out(const PipeCommand& command);
  // Prints the result for a line that is no command.
  void refuse(const Json& seq, std::string_view code, std::string_view text);

  // Hands out messages that commands wait for, and reports events. Returns the latest time for the
  // next turn, or nothing if the agent has left the hive. fd() becomes readable when a turn is due
  // earlier.
  [[nodiscard]] std::optional<Deadline> turn();
  [[nodiscard]] int fd() { return agent_->fd(); }
  // Whether the hive goes down.
  [[nodiscard]] bool has_shut_down() const { return has_shut_down_; }

  // Puts held messages back, takes requests back, leaves the hive and then reports why. A program
  // that ended with messages in hand may have died of one of them, so each then counts as a failed
  // attempt. Returns how many were held.
  enum class Ending { kOfPipe, kOfProgram };
  std::size_t leave(Ending ending, std::string_view why, std::string_view text);

 private:
  struct Receiving {
    PipeCommand command;
    Deadline deadline;
  };
  struct Held {
    Message message;
    bool is_taken_back = false;  // and the program was told
  };
  struct Asked {
    Json seq;
    Peer to;
    MessageId id = 0;
    bool leave = false;
  };

  void succeed(const Json& seq, const Json& rest = Json::object());
  void fail(const Json& seq, const Error& error);
  void fail(const PipeCommand& command, const SendResult& result, std::string_view to);

  void receive(const PipeCommand& command);
  void end_lease(const PipeCommand& command);
  void reply(const PipeCommand& command);
  void send(const PipeCommand& command);
  void ask(const PipeCommand& command, bool for_ack);
  void broadcast(const PipeCommand& command);
  void cancel(const PipeCommand& command);
  void cancel_command(const PipeCommand& command);
  void list(const PipeCommand& command);

  // The held message that a command names. Null if it is not held; then the failure has been
  // reported.
  [[nodiscard]] Held* find_held(const PipeCommand& command);
  [[nodiscard]] std::optional<Peer> find_peer(const PipeCommand& command);
  // Removes and returns the command that an answer or an acknowledgement is for.
  [[nodiscard]] Asked end_asking(std::uint64_t ticket);

  void hand_out();
  [[nodiscard]] bool hand_out_once();
  [[nodiscard]] bool try_hand_out(const Receiving& receiving);
  void end_overdue();
  void tell_taken_back();
  void tell_notices();

  std::optional<Agent> agent_;
  PipeOutput& output_;
  std::deque<Receiving> receiving_;  // in the order in which they came
  std::map<MessageId, Held> held_;
  std::map<std::uint64_t, Asked> asked_;  // by a ticket
  std::uint64_t next_ticket_ = 0;
  std::uint64_t looked_at_drained_ = 0;  // how much the inbox had drained when we last looked for
                                         // messages taken back
  bool has_shut_down_ = false;
};

}  // namespace beeline::cli
