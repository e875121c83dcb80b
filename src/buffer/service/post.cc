#include "src/buffer/service/post.h"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "src/buffer/service/answer.h"
#include "src/os/clock.h"
#include "src/service/log.h"

namespace beeline::buffer {
namespace {

constexpr std::int64_t kPostAgainNs = 20'000'000;

bool is_passing(SendStatus status) {
  return status == SendStatus::kFull || status == SendStatus::kRateLimited ||
         status == SendStatus::kNoMemory;
}

// The coordinator may be away for a while.
bool is_passing(ErrorCode code) {
  return code == ErrorCode::kFull || code == ErrorCode::kNoMemory ||
         code == ErrorCode::kNoCoordinator || code == ErrorCode::kTimeout;
}

}  // namespace

bool Post::may_try_again(const Error& error, const Letter& letter) {
  return is_passing(error.code) && std::chrono::steady_clock::now() < letter.until;
}

void Post::answer(Lease lease, std::string text, std::function<void()> lost) {
  Answer answer{std::move(lease), std::move(text), std::move(lost)};
  if (try_answer(answer)) return;
  answers_.push_back(std::move(answer));
  wait_for_room();
}

bool Post::try_answer(Answer& answer) {
  SendResult sent = agent_.reply(answer.lease, answer.text);
  if (!sent && sent.status == SendStatus::kTooBig) {
    // The batch of such an answer stays leased: given back, it would come next again.
    answer.lost = nullptr;
    answer.text = error_text(
        {ErrorCode::kTooBig, 0,
         fmt::format("the answer has {} bytes, more than a message may have; ask for less, or read "
                     "the file with `beeline buffer ls|tasks|show --db FILE`",
                     answer.text.size())});
    service::log_warn("answer_too_big", answer.text);
    sent = agent_.reply(answer.lease, answer.text);
  }
  if (!sent && is_passing(sent.status)) return false;
  if (answer.lease.valid()) answer.lease.done();
  if (!sent && answer.lost) answer.lost();
  return true;
}

void Post::start(Letter letter) {
  const auto call = agent_.loop().find_peer(To(letter.to), letter.until);
  if (call) {
    unlinked_.emplace(*call, std::move(letter));
  } else if (may_try_again(call.error(), letter)) {
    letters_.push_back({std::move(letter), {}});
    wait_for_room();
  } else {
    letter.failed(call.error());
  }
}

void Post::ask_steward(std::string_view type, std::string text, std::chrono::milliseconds patience,
                       std::function<void(Result<std::string>)> then) {
  Letter letter;
  letter.to = kSteward;
  letter.until = after(patience);
  letter.failed = [then](const Error& error) { then(tl::unexpected(error)); };
  letter.send = [this, type = std::string(type), text = std::move(text), patience,
                 then](Peer to) -> Result<void> {
    SendOptions options;
    options.type = type;
    options.inherit = false;
    options.cancel_on_timeout = true;  // so that no later steward does it for nobody
    const auto sent = agent_.request_then(
        to, text, after(patience),
        [then](Result<Lease> answer) {
          if (!answer) return then(tl::unexpected(std::move(answer.error())));
          then(std::string(answer->text()));
        },
        options);
    if (!sent) return tl::unexpected(sent.error());
    return {};
  };
  start(std::move(letter));
}

void Post::hear_peers() {
  while (auto found = agent_.loop().next_peer()) {
    const auto at = unlinked_.find(found->call);
    if (at == unlinked_.end()) continue;
    Letter letter = std::move(at->second);
    unlinked_.erase(at);
    if (found->peer) {
      try_letter({std::move(letter), *found->peer});
    } else if (may_try_again(found->peer.error(), letter)) {
      letters_.push_back({std::move(letter), {}});
      wait_for_room();
    } else {
      letter.failed(found->peer.error());
    }
  }
}

void Post::try_letter(Waiting waiting) {
  const auto sent = waiting.letter.send(waiting.peer);
  if (sent) return;
  if (!may_try_again(sent.error(), waiting.letter)) return waiting.letter.failed(sent.error());
  letters_.push_back(std::move(waiting));
  wait_for_room();
}

void Post::wait_for_room() {
  if (!alarms_.is_set(Duty::kPost)) alarms_.set(Duty::kPost, os::monotonic_ns() + kPostAgainNs);
}

void Post::try_again() {
  for (Waiting& waiting : std::exchange(letters_, {})) {
    if (waiting.peer.valid()) {
      try_letter(std::move(waiting));
    } else {
      start(std::move(waiting.letter));
    }
  }
  for (Answer& answer : std::exchange(answers_, {})) {
    if (!try_answer(answer)) answers_.push_back(std::move(answer));
  }
  if (!letters_.empty() || !answers_.empty()) wait_for_room();
}

}  // namespace beeline::buffer
