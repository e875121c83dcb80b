#include "src/buffer/service/claims.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "src/buffer/json.h"
#include "src/buffer/ledger.h"
#include "src/buffer/service/answer.h"
#include "src/buffer/service/request.h"
#include "src/os/clock.h"
#include "src/service/log.h"

namespace beeline::buffer {
namespace {

constexpr std::string_view kBatchType = "buffer.batch";
constexpr std::string_view kExhausted = "exhausted";  // the engine's word for it
constexpr std::string_view kNoBatch = R"({"batch":null})";
// Batches that are looked up at once.
constexpr std::uint32_t kMostAsked = 8;
constexpr std::size_t kMostClaims = 4096;

}  // namespace

void Claims::add_credits(Lease lease, std::uint32_t count) {
  std::uint32_t open = 0;
  for (const auto& [number, claim] : claims_) {
    if (!claim.is_take && claim.pid == lease.from()) open += claim.wanted;
  }
  count = std::min(count, kMostCredits - std::min(open, kMostCredits));
  if (count == 0 || claims_.size() >= kMostClaims) return lease.done();
  Claim claim{.lease = {}, .pid = lease.from(), .holder = sender_name(lease), .wanted = count};
  lease.defer();
  claim.lease = std::move(lease);
  add(std::move(claim));
}

void Claims::add_take(Lease lease, std::chrono::milliseconds timeout) {
  // The life before may have answered, and a second batch would have no taker. The batch of that
  // answer was given back.
  if (lease.redelivered()) return parts_.post.answer(std::move(lease), std::string(kNoBatch));
  if (claims_.size() >= kMostClaims) {
    const Error error{
        ErrorCode::kFull, 0,
        fmt::format("{} agents wait for batches, more may not; try again later", kMostClaims)};
    return parts_.post.answer(std::move(lease), error_text(error));
  }
  Claim claim{.lease = {},
              .pid = lease.from(),
              .holder = sender_name(lease),
              .is_take = true,
              .until_ns = os::monotonic_ns() + std::chrono::nanoseconds(timeout).count(),
              .wanted = 1};
  if (timeout.count() != 0) lease.defer();
  claim.lease = std::move(lease);
  add(std::move(claim));
}

void Claims::add(Claim claim) {
  claims_.emplace(++last_, std::move(claim));
  look();
  set_alarm();
}

void Claims::look() {
  may_have_ = true;
  while (asked_ < kMostAsked) {
    const auto next = next_claim();
    if (next == claims_.end()) return;
    ask(next->first);
  }
}

Claims::~Claims() {
  for (auto& [number, claim] : claims_) {
    if (claim.lease.valid()) claim.lease.put_back();
  }
}

std::map<Claims::Number, Claims::Claim>::iterator Claims::next_claim() {
  for (auto at = claims_.begin(); at != claims_.end();) {
    Claim& claim = at->second;
    if (claim.wanted <= claim.asked) {
      ++at;
    } else if (claim.is_take && claim.lease.cancelled()) {
      claim.lease.done();
      at = claims_.erase(at);
    } else {
      return at;
    }
  }
  return claims_.end();
}

void Claims::ask(Number number) {
  Claim& claim = claims_.at(number);
  ++claim.asked;
  ++asked_;
  parts_.orders.give(NextBatch{claim.holder}, [this, number](Lease, Result<Answer> answer) {
    hear_batch(number, std::move(answer));
  });
}

void Claims::hear_batch(Number number, Result<Answer> answer) {
  --asked_;
  const auto at = claims_.find(number);
  if (at != claims_.end()) --at->second.asked;
  if (!answer) {
    service::log_warn("batch_not_read", answer.error().text);
    may_have_ = false;
    parts_.again.add([this] { look(); });
    if (at == claims_.end() || !at->second.is_take) return;
    parts_.post.answer(std::move(at->second.lease), error_text(answer.error()));
    claims_.erase(at);
    return;
  }
  auto& batch = answer_as<std::optional<Batch>>(answer);
  if (!batch) {
    may_have_ = false;
    look_after_taken_over();
    return hear_takes_over();
  }
  if (at == claims_.end()) return give_back(batch->id);
  hand_out(number, at->second, std::move(*batch));
  if (may_have_) look();
}

void Claims::hand_out(Number number, Claim& claim, Batch batch) {
  --claim.wanted;
  if (!claim.is_take) return deliver(number, claim, batch);
  Lease lease = std::move(claim.lease);
  claims_.erase(number);
  if (lease.cancelled()) {
    lease.done();
    return give_back(batch.id);
  }
  parts_.post.answer(std::move(lease), fmt::format(R"({{"batch":{}}})", batch_json(batch)),
                     [this, id = batch.id] { give_back(id); });
}

void Claims::deliver(Number number, Claim& claim, const Batch& batch) {
  ++claim.sending;
  Post::Letter letter;
  letter.to = claim.pid;
  letter.until = after(kNoLimit);
  letter.send =
      [this, number, id = batch.id, pid = claim.pid, holder = claim.holder,
       text = std::make_shared<const std::string>(batch_json(batch))](Peer to) -> Result<void> {
    SendOptions options;
    options.type = kBatchType;
    options.inherit = false;
    const auto message = std::make_shared<MessageId>(0);
    const auto sent = parts_.agent.send_acked_then(
        to, *text, after(kNoLimit),
        [this, id, pid, holder, message](Result<Acknowledgement> word) {
          hear_word(*message, id, pid, holder, word);
        },
        options);
    if (!sent) return tl::unexpected(sent.error());
    *message = *sent;
    hear_sent(number);
    return {};
  };
  letter.failed = [this, number, id = batch.id](const Error& error) {
    hear_not_sent(number, id, error);
  };
  parts_.post.start(std::move(letter));
}

void Claims::hear_sent(Number number) {
  const auto at = claims_.find(number);
  if (at == claims_.end()) return;
  Claim& claim = at->second;
  --claim.sending;
  if (claim.wanted != 0 || claim.sending != 0) return;
  claim.lease.done();
  claims_.erase(at);
}

void Claims::hear_not_sent(Number number, BatchId batch, const Error& error) {
  const auto at = claims_.find(number);
  if (error.code == ErrorCode::kTooBig) {
    service::log_warn(
        "batch_too_big",
        fmt::format("batch {} stays leased: {}; read it with `beeline buffer show batch {}`", batch,
                    error.text, batch));
    if (at == claims_.end()) return;
    --at->second.sending;
    ++at->second.wanted;
    return look();
  }
  service::log_info("not_delivered", fmt::format("batch {}: {}", batch, error.text));
  if (at != claims_.end()) drop_claims(at->second.pid);
  give_back(batch);
}

void Claims::hear_word(MessageId message, BatchId batch, Pid to, const std::string& holder,
                       const Result<Acknowledgement>& word) {
  if (!word) {
    if (word.error().code == ErrorCode::kClosed) return;  // the next life gives it back
    service::log_info("given_back",
                      fmt::format("batch {} of {}: {}", batch, holder, word.error().text));
    return give_back(batch);
  }
  if (word->status == AckStatus::kQueued) {
    taken_over_[message] = {batch, to};
    return;
  }
  if (word->status == AckStatus::kRejected && word->reply == kExhausted) {
    // None of its holders finished it.
    service::log_warn("given_back",
                      fmt::format("batch {} of {}: its attempts are used up; it comes again, see "
                                  "`beeline buffer show batch {}`",
                                  batch, holder, batch));
    return give_back(batch);
  }
  if (word->status != AckStatus::kAccepted) {
    service::log_warn("batch_rejected",
                      fmt::format("{} answered batch {} with \"{}\", and it ends: {}; see `beeline "
                                  "buffer show batch {}`",
                                  holder, batch, to_string(word->status), word->reply, batch));
  }
  end_batch(batch);
}

// The holder of a batch that it has put off may have ended without a successor, and no word comes.
void Claims::look_after_taken_over() {
  for (const auto& [message, held] : taken_over_) {
    Post::Letter letter;
    letter.to = held.pid;
    letter.until = after(kNoLimit);
    letter.send = [](Peer) -> Result<void> { return {}; };
    letter.failed = [this, message = message](const Error&) {
      const auto found = taken_over_.find(message);
      if (found == taken_over_.end()) return;
      give_back(found->second.batch);
      taken_over_.erase(found);
    };
    parts_.post.start(std::move(letter));
  }
}

bool Claims::end_taken_over(const Lease& lease) {
  const auto found = taken_over_.find(lease.reply_to());
  if (lease.reply_to() == 0 || found == taken_over_.end()) return false;
  end_batch(found->second.batch);
  taken_over_.erase(found);
  return true;
}

void Claims::end_batch(BatchId batch) {
  parts_.orders.give(AckBatch{batch}, [this, batch](Lease, Result<Answer> answer) {
    if (answer) return;
    service::log_warn("not_ended", answer.error().text);
    if (!is_refusal(answer.error())) parts_.again.add([this, batch] { end_batch(batch); });
  });
}

void Claims::give_back(BatchId batch) {
  parts_.orders.give(GiveBack{batch}, [this, batch](Lease, Result<Answer> answer) {
    if (answer) return look();
    service::log_warn("not_given_back", answer.error().text);
    parts_.again.add([this, batch] { give_back(batch); });
  });
}

// A batch that is looked up for one of them is given back.
void Claims::drop_claims(Pid pid) {
  for (auto at = claims_.begin(); at != claims_.end();) {
    if (at->second.pid != pid || at->second.is_take) {
      ++at;
      continue;
    }
    at->second.lease.done();
    at = claims_.erase(at);
  }
}

void Claims::end_take(std::map<Number, Claim>::iterator take) {
  parts_.post.answer(std::move(take->second.lease), std::string(kNoBatch));
  claims_.erase(take);
}

// While a batch may be there, an order is under way, and its answer leads here again.
void Claims::hear_takes_over() {
  if (may_have_) return;
  const std::int64_t now = os::monotonic_ns();
  for (auto at = claims_.begin(); at != claims_.end();) {
    const auto take = at++;
    const Claim& claim = take->second;
    if (claim.is_take && claim.asked == 0 && claim.until_ns <= now) end_take(take);
  }
  set_alarm();
}

void Claims::set_alarm() {
  std::int64_t next = 0;
  for (const auto& [number, claim] : claims_) {
    if (!claim.is_take || claim.asked != 0) continue;
    if (next == 0 || claim.until_ns < next) next = claim.until_ns;
  }
  if (next != 0) parts_.alarms.set(Duty::kTakes, next);
}

}  // namespace beeline::buffer
