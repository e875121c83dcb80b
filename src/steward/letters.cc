#include "src/steward/letters.h"

#include <utility>

#include <fmt/format.h>

#include "src/os/clock.h"
#include "src/service/log.h"

namespace beeline::steward {

namespace {

constexpr std::int64_t kAgainNs = 20'000'000;
constexpr auto kShutdownPatience = std::chrono::seconds(2);

bool is_passing(SendStatus status) {
  return status == SendStatus::kFull || status == SendStatus::kRateLimited ||
         status == SendStatus::kNoMemory;
}

}  // namespace

void Letters::answer(Message message, std::string text) {
  Answer answer{std::move(message), std::move(text)};
  if (!answers_.empty() || !try_answer(answer)) {
    answers_.push_back(std::move(answer));
    ask_again();
  }
}

void Letters::send(Pid to, std::string type, std::string text, std::chrono::milliseconds patience) {
  start(Letter{to, std::move(type), std::move(text), false, after(patience), {}});
}

void Letters::send_shutdown(Pid to, std::function<void()> failed) {
  start(Letter{
      to, std::string(kShutdownOrder), {}, true, after(kShutdownPatience), std::move(failed)});
}

void Letters::start(Letter letter) {
  const auto call = agent_.loop().find_peer(To(letter.to));
  if (!call) return drop(letter, call.error().text);
  unlinked_.emplace(*call, std::move(letter));
}

bool Letters::try_send(Letter& letter) {
  SendOptions options;
  options.inherit = false;
  options.type = letter.type;
  const SendResult sent = letter.is_shutdown
                              ? agent_.send_control(To(letter.to), letter.type, {}, options)
                              : agent_.send(To(letter.to), letter.text, options);
  if (sent) return true;
  if (is_passing(sent.status) && std::chrono::steady_clock::now() < letter.until) return false;
  drop(letter, sent.text());
  return true;
}

bool Letters::try_answer(Answer& answer) {
  SendOptions options;
  const SendResult sent = agent_.reply(answer.message, answer.text, options);
  if (!sent && is_passing(sent.status)) return false;
  if (answer.message.valid()) answer.message.done();
  return true;
}

void Letters::drop(const Letter& letter, const std::string& reason) {
  if (letter.failed) return letter.failed();
  service::log_info("letter_dropped",
                    fmt::format("{} to PID {}: {}", letter.type, letter.to, reason));
}

void Letters::ask_again() { alarms_.set(Duty::kLetters, 0, os::monotonic_ns() + kAgainNs); }

void Letters::run() {
  while (auto found = agent_.loop().next_peer()) {
    const auto at = unlinked_.find(found->call);
    if (at == unlinked_.end()) continue;
    Letter letter = std::move(at->second);
    unlinked_.erase(at);
    if (!found->peer) {
      drop(letter, found->peer.error().text);
    } else if (!try_send(letter)) {
      letters_.push_back(std::move(letter));
    }
  }
  for (std::size_t left = letters_.size(); left > 0; --left) {
    Letter letter = std::move(letters_.front());
    letters_.pop_front();
    if (!try_send(letter)) letters_.push_back(std::move(letter));
  }
  for (std::size_t left = answers_.size(); left > 0; --left) {
    Answer answer = std::move(answers_.front());
    answers_.pop_front();
    if (!try_answer(answer)) answers_.push_back(std::move(answer));
  }
  if (!letters_.empty() || !answers_.empty()) ask_again();
}

}  // namespace beeline::steward
