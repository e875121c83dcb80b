#include "src/agent/leaving.h"

#include <chrono>

#include "src/agent/debts.h"
#include "src/agent/escalations.h"
#include "src/agent/open_questions.h"
#include "src/agent/registration.h"
#include "src/agent/sleeper.h"
#include "src/os/clock.h"

namespace beeline {

namespace {

// Between looks for the answer to the farewell: the coordinator rings no life that has ended.
constexpr std::int64_t kLookPause = 1'000'000;

}  // namespace

bool Leaving::is_drained() {
  return with_.debts.empty() && with_.escalations.empty() && with_.links.not_taken() == 0;
}

void Leaving::want_last_receipts(bool wanted) {
  with_.links.want_all_space(wanted);
  if (wanted) with_.sleeper.set_leaving(true);
}

std::uint64_t Leaving::detach(Deadline drain_until) {
  if (with_.life.is_forked()) return 0;
  with_.debts.pay_debts();  // of messages that were refused since the last look, too
  if (drain_until > Deadline::min() && !is_drained()) {
    want_last_receipts(true);
    with_.sleeper.wait_until(drain_until.time_since_epoch().count(),
                             [this] { return with_.life.is_down() || is_drained(); });
    want_last_receipts(false);
  }
  stop();
  if (!with_.life.has_ended() && !with_.life.is_down()) with_.registration.say_goodbye();
  close();
  return rest_;
}

void Leaving::stop() {
  with_.life.leave();
  with_.questions.drop_answers();
  rest_ = with_.links.not_taken() + with_.debts.drop_debts();
}

// Every wait ends, a serve() above us among them.
void Leaving::close() {
  with_.life.close();
  with_.client.close();
  stage_ = Stage::kLeft;
}

void Leaving::start(Deadline drain_until) {
  if (stage_ != Stage::kNone || with_.life.is_forked()) return;
  with_.debts.pay_debts();
  want_last_receipts(true);
  drain_until_ = drain_until;
  stage_ = Stage::kDraining;
}

void Leaving::step() {
  if (stage_ == Stage::kDraining) {
    const bool is_late = std::chrono::steady_clock::now() >= drain_until_;
    if (!is_late && !with_.life.is_down() && !is_drained()) return;
    want_last_receipts(false);
    stop();
    ask();
    stage_ = Stage::kGoodbye;
  }
  if (stage_ != Stage::kGoodbye) return;
  if (seq_ != 0) {
    while (with_.client.try_next()) {
    }
    const auto answer = with_.client.take_answer(seq_);
    if (!answer && os::monotonic_ns() < give_up_ns_) return;
    // The next coordinator does not know that this agent has left.
    if (answer && !*answer && answer->error().code == ErrorCode::kClosed) {
      with_.registration.say_goodbye();
    }
  }
  close();
}

void Leaving::ask() {
  if (with_.life.has_ended() || with_.life.is_down()) return;
  const auto asked = with_.client.ask(control::DetachRequest{with_.links.unused()});
  give_up_ns_ = os::monotonic_ns() + with_.life.options().control_timeout.count();
  if (asked) seq_ = *asked;
  if (!asked) with_.registration.say_goodbye();
}

Deadline Leaving::next_step() const {
  if (stage_ == Stage::kDraining) return drain_until_;
  if (stage_ != Stage::kGoodbye) return Deadline::max();
  return Deadline(std::chrono::nanoseconds(os::monotonic_ns() + kLookPause));
}

std::optional<std::uint64_t> Leaving::result() const {
  return stage_ == Stage::kLeft ? std::optional(rest_) : std::nullopt;
}

}  // namespace beeline
