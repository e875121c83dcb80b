// The send side of an agent: peers by slot, waiting for space, loans, and sends of other threads.

#include "src/agent/core.h"
#include "src/agent/core_wait.h"

namespace beeline {

namespace {

SendStatus status_of(send::Outcome outcome) {
  switch (outcome) {
    case send::Outcome::kOk: return SendStatus::kOk;
    case send::Outcome::kFull: return SendStatus::kFull;
    case send::Outcome::kTooBig: return SendStatus::kTooBig;
    case send::Outcome::kDead: return SendStatus::kPeerDead;
    case send::Outcome::kNoMemory: return SendStatus::kNoMemory;
    case send::Outcome::kDenied: return SendStatus::kDenied;
  }
  return SendStatus::kNoRoute;
}

send::Envelope envelope_of(const SendOptions& options) {
  return {options.rank, options.type, options.channel, options.reply_to, options.ttl_ms, 0};
}

SendResult result_of(send::Outcome outcome, const send::OutLink& link, MessageId id,
                     std::size_t bytes) {
  if (outcome == send::Outcome::kOk) return {SendStatus::kOk, id, 0};
  if (outcome != send::Outcome::kTooBig) return {status_of(outcome), 0, 0};
  const bool payload = bytes > link.max_payload();
  return {SendStatus::kTooBig, 0, payload ? link.max_payload() : shm::kMaxStringLength};
}

std::int64_t in_ns(Deadline deadline) { return deadline.time_since_epoch().count(); }

}  // namespace

send::OutLink* AgentCore::link_of(Peer peer) {
  return peer.slot < out_.size() ? out_[peer.slot].get() : nullptr;
}

SendResult AgentCore::send_now(send::OutLink& link, std::span<const std::byte> payload,
                               const SendOptions& options, MessageId id) {
  const send::Outcome outcome = send_path_.send(link, payload, envelope_of(options), id);
  return result_of(outcome, link, id, payload.size());
}

MessageId AgentCore::reserve_id() {
  const auto lock = lock_send();
  return send_path_.reserve_id();
}

SendResult AgentCore::send(Peer to, std::span<const std::byte> payload, const SendOptions& options,
                           Deadline deadline, MessageId id) {
  send::OutLink* link = link_of(to);
  if (link == nullptr) return {SendStatus::kNoRoute, 0, 0};
  SendResult result;
  {
    const auto lock = lock_send();
    if (id == 0) id = send_path_.reserve_id();
    result = send_now(*link, payload, options, id);
  }
  if (link->needs_peer) poll_control();
  if (result.status != SendStatus::kFull || deadline == Deadline::min()) return result;
  const auto want = [&](bool wanted) { send::SendPath::want_space(*link, wanted); };
  want(true);
  wait_until(in_ns(deadline), [&] {
    const auto lock = lock_send();
    result = send_now(*link, payload, options, id);
    return result.status != SendStatus::kFull || down_;
  });
  want(false);
  return result;
}

SendResult AgentCore::send_shared(Peer to, std::span<const std::byte> payload,
                                  const SendOptions& options, Deadline deadline) {
  for (int round = 0;; ++round) {
    SharedSend item;
    item.to = to;
    item.payload = payload;
    item.options = &options;
    queue_.enqueue(&item);
    {
      // Whoever holds the send side flushes everybody's, so ours is answered when we have held it.
      const std::lock_guard lock(send_mutex_);
      flush_shared();
    }
    if (item.result.status != SendStatus::kFull || std::chrono::steady_clock::now() >= deadline) {
      return item.result;
    }
    wake::nap(round);
  }
}

void AgentCore::flush_shared() {
  SharedSend* item = nullptr;
  while (queue_.try_dequeue(item)) {
    send::OutLink* link = link_of(item->to);
    item->result = link == nullptr
                       ? SendResult{SendStatus::kNoRoute, 0, 0}
                       : send_now(*link, item->payload, *item->options, send_path_.reserve_id());
  }
}

Result<Loan> AgentCore::loan(Peer to, std::size_t bytes, Deadline deadline) {
  send::OutLink* link = link_of(to);
  if (link == nullptr) return fail(ErrorCode::kNoRoute, "loan: no such peer");
  tl::expected<shm::SlabPool::Loan, ErrorCode> slab = tl::unexpected(ErrorCode::kFull);
  const auto take = [&] {
    const auto lock = lock_send();
    send_path_.follow(*link);
    if (link->dead) {
      slab = tl::unexpected(ErrorCode::kPeerDead);
    } else {
      slab = link->take_slab(bytes);
    }
    return slab || slab.error() != ErrorCode::kFull || down_;
  };
  if (!take() && deadline != Deadline::min()) {
    send::SendPath::want_space(*link, true);
    wait_until(in_ns(deadline), take);
    send::SendPath::want_space(*link, false);
  }
  if (!slab) {
    return fail(slab.error(), "loan of " + std::to_string(bytes) + " bytes for agent " +
                                  std::to_string(to.pid) + ": " + std::string(to_string(slab.error())) +
                                  "; the largest payload is " + std::to_string(link->max_payload()) +
                                  " bytes");
  }
  Loan loan;
  loan.core_ = this;
  loan.peer_ = to;
  loan.data_ = link->slab_bytes(*slab);
  loan.size_ = bytes;
  loan.slab_ = slab->slab;
  loan.generation_ = slab->generation;
  return loan;
}

SendResult AgentCore::send_loan(Loan& loan, const SendOptions& options) {
  if (!loan.valid()) return {SendStatus::kNoRoute, 0, 0};
  send::OutLink& link = *link_of(loan.peer_);
  const auto lock = lock_send();
  const MessageId id = send_path_.reserve_id();
  const send::Outcome outcome =
      send_path_.send_loan(link, {loan.slab_, loan.generation_},
                           static_cast<std::uint32_t>(loan.size_), envelope_of(options), id);
  if (outcome == send::Outcome::kOk) loan.core_ = nullptr;
  return result_of(outcome, link, id, loan.size_);
}

void AgentCore::give_back(const Loan& loan) {
  const auto lock = lock_send();
  link_of(loan.peer_)->slabs.put_back({loan.slab_, loan.generation_});
}

}  // namespace beeline
