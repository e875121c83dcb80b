#include "bench/agents.h"

#include <utility>

namespace beeline::bench {

namespace {

std::string_view text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::string name_of(Side side) {
  if (side == Side::kPing) return "ping";
  return number_of(side) == 1 ? "pong" : "pong-" + std::to_string(number_of(side));
}

AttachOptions options_of(Side side, const Case& what) {
  AttachOptions options;
  options.name = name_of(side);
  if (what.carry == Carry::kExecute && side != Side::kPing) options.parent = name_of(Side::kPing);
  options.temporary = true;
  options.start_coordinator = false;
  options.wait = what.mode;
  return options;
}

// No agent of that name has come yet, or only that of the case before.
bool is_missing(const Error& error) {
  return error.code == ErrorCode::kNoAgent || error.code == ErrorCode::kPeerDead;
}

// A side with a parent waits until that has attached.
Result<Agent> attach_side(Board& board, Side side, const AttachOptions& options) {
  auto agent = Agent::attach(options);
  while (!agent && !options.parent.empty() && is_missing(agent.error())) {
    agent = Agent::attach(options);
  }
  if (agent) meet(board, side, kAttached);
  return agent;
}

Result<Player> Player::join(Board& board, Side side, const Case& what) {
  auto agent = attach_side(board, side, options_of(side, what));
  if (!agent) return tl::unexpected(agent.error());
  // Each side opens its link, because its receipts go into it.
  auto peer = agent->peer(name_of(side == Side::kPing ? Side::kPong : Side::kPing));
  if (!peer) return tl::unexpected(peer.error());
  Player player(std::move(*agent), *peer, what);
  if (what.carry == Carry::kExecute) {
    player.agent_.tasks().handle(
        [](TaskRun& run) { return TaskResult{.output = run.task().context}; });
  }
  if (auto linked = player.greet(side); !linked) return tl::unexpected(linked.error());
  return player;
}

Result<void> Player::greet(Side side) {
  if (side == Side::kPing) {
    (void)(send_end() && receive_end());
  } else {
    (void)(receive_end() && send_end());
  }
  return error();
}

bool Player::receive_end() {
  (void)receive(0);
  return error_.empty();
}

bool Player::lend(std::uint64_t number) {
  const auto sent = send_loan(agent_, peer_, what_.size, [&](std::span<std::byte> payload) {
    if (what_.carry == Carry::kLoan) write_whole(payload, number);
  });
  return sent || note(sent.error().text);
}

bool Player::try_send(std::uint64_t number) {
  SendResult sent;
  if (what_.carry == Carry::kLane) {
    const std::span<std::byte> payload(buffer_.data(), what_.size);
    write_whole(payload, number);
    sent = agent_.send(peer_, payload);
  } else {
    auto loan = agent_.loan(peer_, what_.size);
    if (!loan) return loan.error().code != ErrorCode::kFull && note(loan.error().text);
    if (what_.carry == Carry::kLoan) write_whole(loan->bytes(), number);
    sent = agent_.send(*loan);
  }
  return sent.status != SendStatus::kFull && note(sent);
}

bool Player::ask(std::uint64_t number) {
  write_whole(spoken_, number);
  Result<Message> answer = agent_.request(peer_, text_of(spoken_));
  if (!answer) return note(answer.error().text);
  const bool whole = is_whole(*answer, number);
  answer->done();
  return whole || note("an answer is not what was sent");
}

// Answers like a receiver that must not lose a question: it finishes the question after the answer.
bool Player::answer(std::uint64_t number) {
  Result<Message> question = next();
  if (!question) return note(question.error().text);
  const bool whole = is_whole(*question, number);
  const bool end = question->payload().empty();
  if (whole) write_whole(spoken_, number);
  const bool answered = whole && note(agent_.reply(*question, text_of(spoken_)));
  question->done();
  return answered || (!end && !whole && note("a question is not what was sent"));
}

bool Player::execute(std::uint64_t number) {
  write_whole(spoken_, number);
  const Task task{.description = "echo", .context = std::string(text_of(spoken_))};
  const auto result = agent_.tasks().execute(peer_, task);
  if (!result) return note(result.error().text);
  const auto output = std::as_bytes(std::span(result->output));
  const bool whole = output.size() == what_.size && read_whole(output, number);
  return whole || note("a result is not what was sent");
}

void Player::work() {
  const auto served = agent_.serve([this](Message& message) -> Ack {
    if (message.payload().empty()) agent_.stop_serving();
    return {};
  });
  if (!served) (void)note(served.error().text);
}

bool Player::note(const SendResult& result) {
  return static_cast<bool>(result) || note("send: " + std::string(to_string(result.status)));
}

bool Player::note(std::string text) {
  error_ = std::move(text);
  return false;
}

}  // namespace beeline::bench
