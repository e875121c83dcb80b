#include "tools/beeline/asking.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace beeline::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::nanoseconds kSlice = std::chrono::milliseconds(20);  // between two looks
constexpr std::chrono::nanoseconds kGrace = std::chrono::seconds(1);

/// One request, as far as it has come.
class Question {
 public:
  Question(Agent& agent, Signals& signals, const Asking& asking)
      : agent_(agent), signals_(signals), asking_(asking) {}

  Asked run(std::string_view body, const SendOptions& options) {
    if (!send(body, options)) return std::move(asked_);
    while (!is_over()) {
      if (signals_.take()) asked_.is_stopped = true;
      if (asked_.is_stopped || Clock::now() >= asking_.deadline) break;
      wait();
    }
    if (!is_over()) give_up();
    return std::move(asked_);
  }

 private:
  [[nodiscard]] bool is_over() const { return asked_.reply.has_value(); }

  // Waits for room until the deadline.
  bool send(std::string_view body, const SendOptions& options) {
    const auto then = [this](Result<Message> reply) {
      asked_.reply.emplace(std::move(reply));
      agent_.stop_serving();
    };
    for (;;) {
      auto id = agent_.request_then(asking_.to, body, asking_.deadline + 2 * kGrace, then, options);
      if (id) {
        id_ = *id;
        return true;
      }
      if (signals_.take()) asked_.is_stopped = true;
      const bool ends = asked_.is_stopped || Clock::now() >= asking_.deadline;
      if (id.error().code != ErrorCode::kFull || ends) {
        asked_.reply.emplace(tl::unexpected(std::move(id.error())));
        return false;
      }
      wait();
    }
  }

  // Hands out no message: those in the inbox of an agent with a name are none of ours.
  void wait() {
    const Filter none{.reply_to = std::numeric_limits<MessageId>::max()};
    const auto served =
        agent_.serve([](Message&) { return Ack{}; }, {.until = after(kSlice), .filter = none});
    if (!served && !is_over()) asked_.reply.emplace(tl::unexpected(served.error()));
    if (taken_at_ == Clock::time_point() && is_taken()) taken_at_ = Clock::now();
  }

  // The receiver has taken it out of the lane. Nothing else was sent to it.
  [[nodiscard]] bool is_taken() const {
    const auto links = agent_.links();
    const auto link = std::find_if(links.begin(), links.end(), [this](const LinkCounters& each) {
      return each.peer == asking_.to.pid;
    });
    return link == links.end() || link->not_taken == 0;
  }

  void give_up() {
    if (asking_.leave) {
      asked_.fate = fmt::format("it stays with \"{}\"", asking_.name);
      return;
    }
    const std::string held = where_it_is();
    if (!agent_.cancel(asking_.to, id_)) {
      asked_.fate = held + ", and there was no room to take it back";
      return;
    }
    const Deadline end = is_away_ ? Clock::now() : after(kGrace);
    while (!is_over() && Clock::now() < end) wait();
    if (!is_over()) {
      asked_.fate = held + ", and was told to give it back";
      return;
    }
    if (*asked_.reply) return;
    const ErrorCode code = asked_.reply->error().code;
    if (code != ErrorCode::kRejected && code != ErrorCode::kUnanswered) return;
    asked_.fate =
        code == ErrorCode::kRejected
            ? fmt::format("it was taken back: it is a dead letter of \"{}\" now", asking_.name)
            : fmt::format("\"{}\" has finished it meanwhile", asking_.name);
    asked_.reply.reset();
  }

  [[nodiscard]] std::string where_it_is() {
    const auto known = agent_.info(asking_.to.pid);
    is_away_ = known && known->state == State::kZombie;
    if (is_away_) {
      return fmt::format("\"{}\" has no process", asking_.name);
    }
    if (taken_at_ == Clock::time_point()) {
      return fmt::format("\"{}\" has not looked at its inbox since", asking_.name);
    }
    const std::chrono::duration<double> held = Clock::now() - taken_at_;
    return fmt::format("\"{}\" took it {:.1f} s ago", asking_.name, held.count());
  }

  Agent& agent_;
  Signals& signals_;
  const Asking& asking_;
  Asked asked_;
  MessageId id_ = 0;
  Clock::time_point taken_at_;
  bool is_away_ = false;  // the receiver has no process
};

}  // namespace

Asked ask(Agent& agent, Signals& signals, const Asking& asking, std::string_view body,
          const SendOptions& options) {
  return Question(agent, signals, asking).run(body, options);
}

}  // namespace beeline::cli
