#pragma once
// The agents of a run, one in each process, and how two of them hand a payload to each other.

#include <array>
#include <chrono>
#include <vector>

#include <beeline/agent.h>

#include "bench/case.h"
#include "bench/intake.h"
#include "bench/pair.h"
#include "bench/payload.h"
#include "src/os/event_fd.h"

namespace beeline::bench {

// Payloads up to this size travel in the lane, see Agent::send(); larger ones are loans.
inline constexpr std::size_t kLanePayload = 64;

// A stream reads the clock once for this many messages.
inline constexpr std::uint64_t kMessagesPerClock = 64;

// One of this many messages of a stream is a sample, see sample_look(). A prime, so that samples
// fall on every place of a batch.
inline constexpr std::uint64_t kMessagesPerSample = 509;

// Calls `receive()`, which takes message `number` of a stream, and returns its result. For a
// sample it notes how many messages the call took out of the lanes, see Board::looks.
template <typename Receive>
auto sample_look(Board& board, Agent& agent, std::uint64_t number, const Receive& receive) {
  if (number % kMessagesPerSample != 0) return receive();
  const std::uint64_t before = agent.counters().drained;
  auto result = receive();
  const std::uint64_t taken = agent.counters().drained - before;
  board.looks += taken != 0 ? 1 : 0;
  board.looked_at += taken;
  return result;
}

// The name of a side as an agent: "ping", "pong", "pong-2" and so on.
[[nodiscard]] std::string name_of(Side side);

// Attaches, and waits until all sides have attached. Errors: those of Agent::attach().
[[nodiscard]] Result<Agent> attach_side(Board& board, Side side, const AttachOptions& options);
[[nodiscard]] AttachOptions options_of(Side side, const Case& what);

// Lets `fill` write a loan of `size` bytes and sends it; waits while there is no room for it.
// Errors: those of Agent::loan(); kSystem.
template <typename Fill>
[[nodiscard]] Result<void> send_loan(Agent& agent, Peer to, std::size_t size, Fill&& fill) {
  auto loan = agent.loan(to, size);
  if (!loan && loan.error().code == ErrorCode::kFull) {
    loan = agent.loan_until(to, size, Deadline::max());
  }
  if (!loan) return tl::unexpected(loan.error());
  fill(loan->bytes());
  SendResult sent = agent.send(*loan);
  // The lane is full: waits awake or asleep, as the agent does for messages.
  if (sent.status == SendStatus::kFull) sent = agent.send_until(*loan, Deadline::max());
  if (sent) return {};
  return fail(ErrorCode::kSystem, "send: " + std::string(to_string(sent.status)));
}

class Player {
 public:
  // Attaches, opens the link between ping and the other side once that has attached too, and
  // exchanges a first message. Errors: those of Agent::attach() and Agent::peer().
  [[nodiscard]] static Result<Player> join(Board& board, Side side, const Case& what);

  [[nodiscard]] Agent& agent() { return agent_; }
  [[nodiscard]] Peer peer() const { return peer_; }

  // Writes the payload of `number` as the case says and sends it; waits while there is no space.
  // False: it could not be sent, error() has the reason.
  [[nodiscard]] bool send(std::uint64_t number) {
    if (what_.carry != Carry::kLane) return lend(number);
    const std::span<std::byte> payload(buffer_.data(), what_.size);
    write_whole(payload, number);
    if (agent_.send(peer_, payload)) return true;
    return note(agent_.send_until(peer_, payload, Deadline::max()));
  }

  // The same without waiting for space. False: there was none, or error() has the reason.
  [[nodiscard]] bool try_send(std::uint64_t number);

  // Asks with the payload of `number`, waits for the answer, reads it whole and finishes it.
  // False: no answer came, or a wrong one; error() has the reason.
  [[nodiscard]] bool ask(std::uint64_t number);

  // Waits for the question of `number`, reads it whole, answers with the same payload and finishes
  // it. False: as in receive().
  [[nodiscard]] bool answer(std::uint64_t number);

  // Gives the payload of `number` to its child as a task, and reads the result whole. False: there
  // was none, or a wrong one; error() has the reason.
  [[nodiscard]] bool execute(std::uint64_t number);

  // Does tasks: each result is what the task has brought. Ends with a message without a payload.
  void work();

  // Waits for the payload of `number`, reads it as the case says and finishes it. False: it was
  // the end, or not as expected; error() tells.
  [[nodiscard]] bool receive(std::uint64_t number) {
    Result<Message> message = next();
    if (!message) return note(message.error().text);
    const bool whole = is_whole(*message, number);
    const bool end = message->payload().empty();
    message->done();
    return whole || (!end && note("a payload is not what was sent"));
  }
  // Reads the payload as the case says. True if it is that of `number`.
  [[nodiscard]] bool is_whole(const Message& message, std::uint64_t number) const {
    const auto payload = message.payload();
    return payload.size() == what_.size &&
           (what_.carry == Carry::kUntouched || read_whole(payload, number));
  }

  // The same for the stream of throughput.
  [[nodiscard]] bool receive_sampled(Board& board, std::uint64_t number) {
    return sample_look(board, agent_, number, [&] { return receive(number); });
  }

  // An empty payload: the other side's receive() returns false.
  [[nodiscard]] bool send_end() {
    return note(agent_.send_until(peer_, std::span<const std::byte>(), Deadline::max()));
  }

  // Waits for the end. False: it failed.
  [[nodiscard]] bool receive_end();

  // The error; nothing if it was only the end.
  [[nodiscard]] Result<void> error() const {
    if (error_.empty()) return {};
    return fail(ErrorCode::kSystem, error_);
  }

 private:
  Player(Agent agent, Peer peer, const Case& what)
      : agent_(std::move(agent)),
        peer_(peer),
        what_(what),
        intake_(what.batch),
        spoken_(what.carry >= Carry::kRequest ? what.size : 0) {}
  // A first message each way, after which both know both links.
  [[nodiscard]] Result<void> greet(Side side);
  // The next message, waited for as the case says.
  [[nodiscard]] Result<Message> next() {
    if (!what_.events) return intake_.next(agent_);
    for (;;) {
      if (auto message = agent_.try_receive()) return std::move(*message);
      (void)os::wait_readable(agent_.fd(), std::chrono::nanoseconds::max());
    }
  }
  bool lend(std::uint64_t number);
  bool note(const SendResult& result);
  bool note(std::string text);

  Agent agent_;
  Peer peer_;
  Case what_;
  Intake intake_;
  std::string error_;
  alignas(64) std::array<std::byte, kLanePayload> buffer_{};
  std::vector<std::byte> spoken_;  // for questions and answers, which are copied at any size
};

}  // namespace beeline::bench
