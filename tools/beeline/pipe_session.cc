#include "tools/beeline/pipe_session.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/os/clock.h"
#include "tools/beeline/message_json.h"

namespace beeline::cli {
namespace {

// A look without a reason, in case all else has failed; the same as in the library.
constexpr std::chrono::nanoseconds kLongestTurn = std::chrono::seconds(10);
constexpr std::size_t kMostReceiving = 1024;
// Patience for answers that are still owed when the pipe ends.
constexpr std::chrono::nanoseconds kLastAnswers = std::chrono::seconds(1);
// No message is a reply to that id.
constexpr Filter kNothing{.reply_to = std::numeric_limits<MessageId>::max()};
constexpr std::string_view kNotHeld = "not_held";

Filter filter_of_command(const PipeCommand& command) {
  Filter filter;
  filter.type = command.type;
  filter.channel = command.channel;
  return filter;
}

Group group_of_command(const PipeCommand& command) {
  if (command.group == "all") return Group::all();
  if (command.group == "children") return Group::children();
  return command.group == "subtree" ? Group::subtree() : Group::role(command.group);
}

Deadline deadline_of(const PipeCommand& command, std::chrono::nanoseconds otherwise) {
  return after(command.timeout.value_or(otherwise));
}

Json inbox_item_json(const InboxItem& item) {
  const char* const place = item.dead      ? "dead"
                            : item.leased  ? "leased"
                            : item.stashed ? "stashed"
                                           : "queued";
  return {{"place", place},
          {"id", id_text(item.id)},
          {"from", item.from},
          {"from_name", item.from_name},
          {"type", item.type},
          {"channel", item.channel},
          {"rank", item.rank},
          {"attempts", item.attempts},
          {"age_ms", static_cast<double>(os::coarse_ns() - item.sent_ns) / 1e6},
          {"bytes", item.length},
          {"reply_to", id_json(item.reply_to)},
          {"reason", item.reason.empty() ? Json(nullptr) : Json(item.reason)},
          {"preview", item.preview}};
}

}  // namespace

PipeSession::PipeSession(Agent agent, PipeOutput& output)
    : agent_(std::move(agent)), output_(output) {
  output_.add({{"event", "ready"},
               {"name", agent_->name()},
               {"pid", agent_->pid()},
               {"parent", agent_->parent()}});
}

// ---- Results ------------------------------------------------------------------------------------

void PipeSession::succeed(const Json& seq, const Json& rest) {
  Json line{{"seq", seq}, {"ok", true}};
  line.update(rest);
  output_.add(line);
}

void PipeSession::refuse(const Json& seq, std::string_view code, std::string_view text) {
  output_.add({{"seq", seq}, {"ok", false}, {"code", code}, {"text", text}});
}

void PipeSession::fail(const Json& seq, const Error& error) {
  refuse(seq, to_string(error.code), error.text);
}

void PipeSession::fail(const PipeCommand& command, const SendResult& result, std::string_view to) {
  const bool is_full = result.status == SendStatus::kFull;
  refuse(command.seq, to_string(result.status),
         is_full ? fmt::format("not sent to \"{}\": full; it has not taken the messages in its "
                               "lane: send again later, or wait for room with room_ms",
                               to)
                 : not_sent(result, to));
}

// ---- Commands -----------------------------------------------------------------------------------

void PipeSession::carry_out(const PipeCommand& command) {
  switch (command.verb) {
    case PipeVerb::kReceive:
      return receive(command);
    case PipeVerb::kDone:
    case PipeVerb::kRequeue:
    case PipeVerb::kPutBack:
    case PipeVerb::kReject:
      return end_lease(command);
    case PipeVerb::kReply:
      return reply(command);
    case PipeVerb::kSend:
      return command.requires_ack ? ask(command, true) : send(command);
    case PipeVerb::kRequest:
      return ask(command, false);
    case PipeVerb::kBroadcast:
      return broadcast(command);
    case PipeVerb::kCancel:
      return command.of ? cancel_command(command) : cancel(command);
    case PipeVerb::kInbox:
      return list(command);
  }
}

void PipeSession::receive(const PipeCommand& command) {
  if (receiving_.size() < kMostReceiving) {
    receiving_.push_back({command, deadline_of(command, std::chrono::nanoseconds::max())});
    return;
  }
  refuse(command.seq, "full",
         fmt::format("{} `receive` are under way, the limit is {}: read their results first",
                     receiving_.size(), kMostReceiving));
}

PipeSession::Held* PipeSession::find_held(const PipeCommand& command) {
  const auto found = held_.find(command.id);
  if (found != held_.end()) return &found->second;
  refuse(command.seq, kNotHeld,
         fmt::format("message {} is not held, {} others are: give the id of one that `receive` has "
                     "handed out and that is not ended",
                     id_text(command.id), held_.size()));
  return nullptr;
}

void PipeSession::end_lease(const PipeCommand& command) {
  Held* const held = find_held(command);
  if (held == nullptr) return;
  switch (command.verb) {
    case PipeVerb::kDone:
      held->message.done(command.body);
      break;
    case PipeVerb::kRequeue:
      held->message.requeue();
      break;
    case PipeVerb::kPutBack:
      held->message.put_back();
      break;
    default:
      held->message.reject(command.body);
  }
  held_.erase(command.id);
  succeed(command.seq);
}

void PipeSession::reply(const PipeCommand& command) {
  Held* const held = find_held(command);
  if (held == nullptr) return;
  const SendResult result =
      agent_->reply_until(held->message, command.body, after(command.room), command.options());
  if (result) return succeed(command.seq, {{"id", id_text(result.id)}});
  fail(command, result, fmt::format("pid {}", held->message.from()));
}

std::optional<Peer> PipeSession::find_peer(const PipeCommand& command) {
  const auto peer = agent_->peer(command.to);
  if (peer) return *peer;
  fail(command.seq, peer.error());
  return std::nullopt;
}

void PipeSession::send(const PipeCommand& command) {
  const auto peer = find_peer(command);
  if (!peer) return;
  const SendResult result =
      agent_->send_until(*peer, command.body, after(command.room), command.options());
  if (result) return succeed(command.seq, {{"id", id_text(result.id)}});
  fail(command, result, command.to);
}

PipeSession::Asked PipeSession::end_asking(std::uint64_t ticket) {
  const auto found = asked_.find(ticket);
  Asked asked = std::move(found->second);
  asked_.erase(found);
  return asked;
}

// A request, or a message that its receiver has to acknowledge.
void PipeSession::ask(const PipeCommand& command, bool for_ack) {
  const auto peer = find_peer(command);
  if (!peer) return;
  SendOptions options = command.options();
  options.cancel_on_timeout = !for_ack && !command.leave;
  const std::uint64_t ticket = next_ticket_++;
  const auto answered = [this, ticket](Result<Message> answer) {
    const Asked asked = end_asking(ticket);
    if (!answer) return fail(asked.seq, answer.error());
    succeed(asked.seq, {{"id", id_text(asked.id)}, {"message", message_json(*answer)}});
    answer->done();
  };
  const auto acknowledged = [this, ticket](Result<Acknowledgement> ack) {
    const Asked asked = end_asking(ticket);
    if (!ack) return fail(asked.seq, ack.error());
    Json rest{{"id", id_text(asked.id)}, {"status", to_string(ack->status)}};
    set_body(rest, ack->reply);
    succeed(asked.seq, rest);
  };
  const Deadline deadline = deadline_of(command, kRequestPatience);
  const auto id =
      for_ack ? agent_->send_acked_then(*peer, command.body, deadline, acknowledged, options)
              : agent_->request_then(*peer, command.body, deadline, answered, options);
  if (!id) return fail(command.seq, id.error());
  asked_.emplace(ticket, Asked{command.seq, *peer, *id, for_ack || command.leave});
}

void PipeSession::broadcast(const PipeCommand& command) {
  const auto deliveries =
      agent_->broadcast(group_of_command(command), command.body, command.options());
  succeed(command.seq, deliveries_json(deliveries));
}

void PipeSession::cancel(const PipeCommand& command) {
  const auto peer = find_peer(command);
  if (!peer) return;
  const SendResult result = agent_->cancel(*peer, command.id);
  return result ? succeed(command.seq) : fail(command, result, command.to);
}

// Ends a wait for a message at once. A message that was sent is taken back instead, and its
// receiver reports the end.
void PipeSession::cancel_command(const PipeCommand& command) {
  const auto waiting = std::find_if(
      receiving_.begin(), receiving_.end(),
      [&](const Receiving& receiving) { return receiving.command.seq == *command.of; });
  if (waiting != receiving_.end()) {
    refuse(waiting->command.seq, "cancelled", "ended by `cancel`: no message was handed out");
    receiving_.erase(waiting);
    return succeed(command.seq);
  }
  const auto asked = std::find_if(asked_.begin(), asked_.end(),
                                  [&](const auto& each) { return each.second.seq == *command.of; });
  if (asked == asked_.end()) {
    return refuse(command.seq, "invalid",
                  "no command with the seq in `of` is under way: it has had its result, or was "
                  "never given");
  }
  const SendResult result = agent_->cancel(asked->second.to, asked->second.id);
  if (result) return succeed(command.seq);
  fail(command, result, fmt::format("pid {}", asked->second.to.pid));
}

void PipeSession::list(const PipeCommand& command) {
  Json items = Json::array();
  for (const InboxItem& item : agent_->inbox(command.limit, filter_of_command(command))) {
    items.push_back(inbox_item_json(item));
  }
  succeed(command.seq, {{"messages", items}});
}

// ---- Incoming -----------------------------------------------------------------------------------

std::optional<Deadline> PipeSession::turn() {
  hand_out();
  tell_taken_back();
  const auto next = agent_->run_answers();
  tell_notices();
  if (!next) return std::nullopt;
  end_overdue();
  Deadline latest = std::min(*next, after(kLongestTurn));
  for (const Receiving& receiving : receiving_) latest = std::min(latest, receiving.deadline);
  return latest;
}

// A look with another filter may have taken in messages that an earlier command waits for.
void PipeSession::hand_out() {
  for (;;) {
    const std::uint64_t before = agent_->counters().drained;
    const bool some = hand_out_once();
    if (receiving_.empty() || (!some && agent_->counters().drained == before)) return;
  }
}

bool PipeSession::hand_out_once() {
  std::set<std::pair<std::string, std::string>> missed;  // filters that match no message now
  bool some = false;
  for (std::size_t i = 0; i < receiving_.size() && output_.has_room();) {
    const PipeCommand& command = receiving_[i].command;
    const std::pair filter(command.type, command.channel);
    if (!missed.contains(filter) && try_hand_out(receiving_[i])) {
      receiving_.erase(receiving_.begin() + static_cast<std::ptrdiff_t>(i));
      some = true;
      continue;
    }
    missed.insert(filter);
    ++i;
  }
  // The agent sleeps on its fd only after a look that found nothing.
  if (receiving_.empty() || !output_.has_room()) (void)agent_->try_receive(kNothing);
  return some;
}

bool PipeSession::try_hand_out(const Receiving& receiving) {
  const PipeCommand& command = receiving.command;
  for (;;) {
    auto message = agent_->try_receive(filter_of_command(command));
    if (!message) return false;
    if (message->is_copy() && !command.copies) {
      message->done();
      continue;
    }
    succeed(command.seq, {{"message", message_json(*message)}});
    const MessageId id = message->id();
    held_.insert_or_assign(id, Held{std::move(*message), false});
    return true;
  }
}

void PipeSession::end_overdue() {
  const Deadline now = std::chrono::steady_clock::now();
  std::erase_if(receiving_, [&](const Receiving& receiving) {
    if (receiving.deadline > now) return false;
    const auto waited = receiving.command.timeout.value_or(std::chrono::nanoseconds(0));
    refuse(receiving.command.seq, "timeout",
           fmt::format("no such message came within {} ms: allow more with timeout_ms, or list "
                       "the messages with `inbox`",
                       std::chrono::duration<double, std::milli>(waited).count()));
    return true;
  });
}

// An order to give a message back comes through a lane, so if nothing new was taken, there is none.
void PipeSession::tell_taken_back() {
  const std::uint64_t drained = agent_->counters().drained;
  if (std::exchange(looked_at_drained_, drained) == drained) return;
  for (auto& [id, held] : held_) {
    if (held.is_taken_back || !held.message.cancelled()) continue;
    held.is_taken_back = true;
    output_.add({{"event", "taken_back"}, {"id", id_text(id)}});
  }
  for (Message& answer : agent_->drain_pending_results()) {
    output_.add({{"event", "late_answer"}, {"message", message_json(answer)}});
    answer.done();
  }
}

void PipeSession::tell_notices() {
  while (const auto notice = agent_->next_notice()) {
    switch (notice->kind) {
      case Notice::Kind::kShutdown:
        has_shut_down_ = true;
        break;
      case Notice::Kind::kChildAway:
      case Notice::Kind::kChildDead:
        output_.add(
            {{"event", notice->kind == Notice::Kind::kChildAway ? "child_away" : "child_dead"},
             {"pid", notice->pid},
             {"name", notice->name}});
    }
  }
}

std::size_t PipeSession::leave(Ending ending, std::string_view why, std::string_view text) {
  if (!agent_) return 0;
  const std::size_t count = held_.size();
  for (auto& [id, held] : held_) {
    if (ending == Ending::kOfProgram) {
      held.message.requeue();
    } else {
      held.message.put_back();
    }
  }
  held_.clear();
  for (const auto& [ticket, asked] : asked_) {
    if (!asked.leave) (void)agent_->cancel(asked.to, asked.id);
  }
  // A message is still in hand only if its answer has found no room yet.
  if (agent_->counters().leased != 0) (void)agent_->detach(after(kLastAnswers));
  agent_.reset();  // frees its name before any reader can learn why
  for (const Receiving& receiving : receiving_) refuse(receiving.command.seq, "closed", text);
  for (const auto& [ticket, asked] : asked_) refuse(asked.seq, "closed", text);
  receiving_.clear();
  asked_.clear();
  output_.add({{"event", "end"}, {"why", why}, {"text", text}, {"put_back", count}});
  return count;
}

}  // namespace beeline::cli
