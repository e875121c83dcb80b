#include "src/buffer/service/desk.h"

#include <utility>
#include <variant>

#include <fmt/format.h>

#include "src/buffer/ledger.h"
#include "src/buffer/service/answer.h"
#include "src/service/log.h"

namespace beeline::buffer {
namespace {

constexpr unsigned kCountBits = 40;  // of a MessageId
constexpr std::string_view kDefaultChannel = "agent";

}  // namespace

Desk::~Desk() {
  for (Lease& lease : held_) lease.put_back();
}

void Desk::take(Lease lease) {
  if (lease.is_copy()) return lease.done();
  if (lease.is_control()) return take_order(std::move(lease));
  if (parts_.claims.end_taken_over(lease)) return lease.done();
  // An answer to a message of the buffer, for example to a batch: the acknowledgement counts.
  const bool is_answer = lease.reply_to() >> kCountBits == facts_.self;
  // The buffer hears of the end of a child by its task.
  const bool is_about_child = lease.from() == kSteward && lease.type().starts_with("child_");
  if (is_answer || is_about_child) return lease.done();
  if (!lease.type().starts_with(kRequestPrefix)) return put_message(std::move(lease));
  auto request = parse_request(lease.type(), std::string(lease.text()));
  if (request) {
    std::visit([&](auto& one) { on(one, std::move(lease)); }, *request);
  } else if (lease.type() == "buffer.next") {
    lease.reject(request.error().text);  // its sender waits for no answer
  } else {
    answer(std::move(lease), tl::unexpected(std::move(request.error())));
  }
}

void Desk::take_order(Lease lease) {
  if (lease.type() == kShutdownOrder) is_told_to_end_ = true;
  lease.done();
}

Put Desk::draft_of(const Lease& lease) const {
  Put put;
  put.sender = sender_name(lease);
  put.hive_start = facts_.hive_start;
  put.hive_message = lease.id();
  return put;
}

void Desk::put_message(Lease lease) {
  if (lease.is_cut()) {
    return lease.reject(
        fmt::format("invalid: a broadcast to the buffer has {} bytes and was cut to {}; send it to "
                    "the buffer alone",
                    lease.full_length(), lease.text().size()));
  }
  Put put = draft_of(lease);
  put.channel = lease.channel();
  if (put.channel.empty()) put.channel = lease.type();
  if (put.channel.empty()) put.channel = kDefaultChannel;
  put.payload = lease.text();
  parts_.orders.give(
      std::move(put),
      [this](Lease asked, Result<Answer> answer) {
        hear_message_put(std::move(asked), std::move(answer));
      },
      std::move(lease));
}

void Desk::hear_message_put(Lease lease, Result<Answer> answer) {
  if (answer) {
    lease.done();
    return note_put(answer_as<PutAnswer>(answer));
  }
  const Error& error = answer.error();
  if (lease.requires_ack() || is_refusal(error)) {
    service::log_warn("not_put", error.text);
    return lease.reject(fmt::format("{}: {}", to_string(error.code), error.text));
  }
  // Nobody would hear of it: the message waits here, and its sender finds no room some day.
  if (held_.empty()) {
    service::log_warn("held_back", error.text);
    parts_.again.add([this] { put_held(); });
  }
  held_.push_back(std::move(lease));
}

void Desk::put_held() {
  for (Lease& lease : std::exchange(held_, {})) put_message(std::move(lease));
}

void Desk::note_put(const PutAnswer& answer) {
  if (answer.is_repeat) return;
  parts_.ticker.hear_unrouted();
  note_crossing(answer.warned);
}

void Desk::note_crossing(std::uint64_t open) {
  if (open == 0) return;
  service::log_warn(
      "threshold",
      fmt::format("{} messages are not done, more than buffer.warnThreshold ({}); they are "
                  "kept, and more are taken",
                  open, parts_.config.warn_threshold));
}

void Desk::on(PutRequest& request, Lease lease) {
  Put put = draft_of(lease);
  put.channel = std::move(request.put.channel);
  if (!request.put.sender.empty()) put.sender = std::move(request.put.sender);
  put.conversation = std::move(request.put.conversation);
  put.payload = std::move(request.put.payload);
  put.priority = request.put.priority;
  put.key = std::move(request.put.key);
  parts_.orders.give(
      std::move(put),
      [this](Lease asked, Result<Answer> answer) { hear_put(std::move(asked), std::move(answer)); },
      std::move(lease));
}

void Desk::hear_put(Lease lease, Result<Answer> answer) {
  if (!answer) {
    if (!is_refusal(answer.error())) service::log_warn("not_put", answer.error().text);
    return parts_.post.answer(std::move(lease), error_text(answer.error()));
  }
  const auto& put = answer_as<PutAnswer>(answer);
  parts_.post.answer(std::move(lease), put_text(put));
  note_put(put);
}

void Desk::on(const NextRequest& request, Lease lease) {
  parts_.claims.add_credits(std::move(lease), request.count);
}

void Desk::on(const TakeRequest& request, Lease lease) {
  parts_.claims.add_take(std::move(lease), request.timeout);
}

void Desk::on(const AckRequest& request, Lease lease) {
  const auto then = [this](Lease asked, Result<Answer> answer) {
    if (!answer) return this->answer(std::move(asked), tl::unexpected(std::move(answer.error())));
    const bool was_open = answer_as<AckAnswer>(answer).was_open;
    parts_.post.answer(std::move(asked), fmt::format(R"({{"was_open":{}}})", was_open));
  };
  parts_.orders.give(AckBatch{request.batch}, then, std::move(lease));
}

void Desk::on(const GiveBackRequest& request, Lease lease) {
  const auto then = [this, batch = request.batch](Lease asked, Result<Answer> answer) {
    // The life before may have given it back.
    const bool may_be_done = asked.redelivered();
    if (answer && answer_as<std::uint64_t>(answer) == 0 && !may_be_done) {
      answer = fail(ErrorCode::kInvalid,
                    fmt::format("give back: batch {} is not handed out; see `beeline buffer ls "
                                "batches`",
                                batch));
    }
    if (!answer) return this->answer(std::move(asked), tl::unexpected(std::move(answer.error())));
    parts_.post.answer(std::move(asked), "{}");
    parts_.claims.look();
  };
  parts_.orders.give(GiveBack{request.batch}, then, std::move(lease));
}

void Desk::on(const StatusRequest& /*request*/, Lease lease) {
  answer(std::move(lease), status_text(parts_.queries, {parts_.writer.commits(), facts_.database,
                                                        parts_.config.warn_threshold}));
}

void Desk::on(const ListRequest& request, Lease lease) {
  answer(std::move(lease), list_text(parts_.queries, request));
}

void Desk::on(const ShowRequest& request, Lease lease) {
  answer(std::move(lease), show_text(parts_.queries, request));
}

void Desk::on(const PruneRequest& request, Lease lease) {
  parts_.chores.prune(std::move(lease), request.days.value_or(parts_.config.retention_days));
}

void Desk::on(const JobRequest& request, Lease lease) {
  Job job = request.job;
  job.key = fmt::format("{} {}", facts_.hive_start, lease.id());
  parts_.chores.add_job(std::move(lease), job);
}

void Desk::on(const CancelJobRequest& request, Lease lease) {
  parts_.chores.cancel_job(std::move(lease), request.job);
}

void Desk::answer(Lease lease, const Result<std::string>& text) {
  parts_.post.answer(std::move(lease), text ? *text : error_text(text.error()));
}

}  // namespace beeline::buffer
