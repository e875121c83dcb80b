#include "tools/beeline/asking.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace beeline::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::nanoseconds kSlice = std::chrono::milliseconds(20);  // between two looks
constexpr std::chrono::nanoseconds kGrace = std::chrono::seconds(1);

// One request and its progress.
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
    asked_.waited = Clock::now() - begin_;
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
      if (signals_.take()) {
        asked_.is_stopped = true;
        asked_.fate = "nothing was sent: " + id.error().text;
        return false;
      }
      if (id.error().code != ErrorCode::kFull || Clock::now() >= asking_.deadline) {
        asked_.reply.emplace(tl::unexpected(std::move(id.error())));
        return false;
      }
      wait();
    }
  }

  // Hands out no message: the messages in the inbox of a named agent are not for this verb.
  void wait() {
    const Filter none{.reply_to = std::numeric_limits<MessageId>::max()};
    const auto served =
        agent_.serve([](Message&) { return Ack{}; }, {.until = after(kSlice), .filter = none});
    if (!served && !is_over()) asked_.reply.emplace(tl::unexpected(served.error()));
    note_taken();
  }

  void note_taken() {
    if (taken_at_ == Clock::time_point() && is_taken()) taken_at_ = Clock::now();
  }
  // The receiver has taken the request out of the lane. Nothing else was sent to that receiver.
  [[nodiscard]] bool is_taken() const {
    const LinkCounters* link = link_of_receiver();
    return link == nullptr || link->not_taken == 0;
  }

  const LinkCounters* link_of_receiver() const {
    links_ = agent_.links();
    const auto link = std::find_if(links_.begin(), links_.end(), [this](const LinkCounters& each) {
      return each.peer == asking_.to.pid;
    });
    return link == links_.end() ? nullptr : &*link;
  }

  // A second signal ends the wait for the receiver's word on the message.
  void give_up() {
    if (asking_.leave) {
      asked_.fate = fmt::format("it stays with \"{}\"", asking_.name);
      return;
    }
    const LinkCounters* link = link_of_receiver();
    const bool is_away = link != nullptr && link->is_away;
    note_taken();  // the order will lie in the same link
    const bool is_ordered = static_cast<bool>(agent_.cancel(asking_.to, id_));
    const Deadline end = is_ordered && !is_away ? after(kGrace) : Clock::now();
    while (!is_over() && Clock::now() < end && !signals_.take()) wait();
    if (is_over() && *asked_.reply) return;
    if (is_over() && tell_end(asked_.reply->error())) return;
    asked_.reply.reset();
    asked_.fate = (is_away ? absence() : where_it_is()) +
                  (is_ordered ? "; an order to give it back was sent and is not confirmed yet"
                              : "; there was no room for an order to give it back");
  }

  // False if `error` does not tell the end of the message. A rejection by its handler is reported
  // as such.
  bool tell_end(const Error& error) {
    const bool is_taken_back = error.text.find("dead letter: cancelled") != std::string::npos;
    if (error.code == ErrorCode::kUnanswered) {
      asked_.fate = fmt::format("\"{}\" has finished it meanwhile", asking_.name);
    } else if (is_taken_back) {
      asked_.fate =
          fmt::format("it was taken back: it is a dead letter of \"{}\" now", asking_.name);
    } else {
      return error.code != ErrorCode::kTimeout;
    }
    asked_.reply.reset();
    return true;
  }

  [[nodiscard]] std::string where_it_is() const {
    if (taken_at_ == Clock::time_point()) {
      return fmt::format("\"{}\" has not read it yet", asking_.name);
    }
    const std::chrono::duration<double> held = Clock::now() - taken_at_;
    return fmt::format("it has been in the inbox of \"{}\" for {:.1f} s", asking_.name,
                       held.count());
  }

  [[nodiscard]] std::string absence() const {
    const auto known = agent_.info(asking_.to.pid);
    const std::string text = fmt::format("\"{}\" has no process", asking_.name);
    if (!known || known->away_unix_ns == 0) return text;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const std::chrono::duration<double> away = now - std::chrono::nanoseconds(known->away_unix_ns);
    return text + fmt::format(" since {:.1f} s", away.count());
  }

  Agent& agent_;
  Signals& signals_;
  const Asking& asking_;
  Asked asked_;
  MessageId id_ = 0;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point taken_at_;
  mutable std::vector<LinkCounters> links_;  // at the last look
};

}  // namespace

Asked ask(Agent& agent, Signals& signals, const Asking& asking, std::string_view body,
          const SendOptions& options) {
  return Question(agent, signals, asking).run(body, options);
}

}  // namespace beeline::cli
