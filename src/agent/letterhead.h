#pragma once
// The head of a message, beside its payload: the wishes of the sender, and the fields that it
// inherits from the message that is being handled while it is sent.

#include <algorithm>
#include <span>

#include <beeline/types.h>

#include "shm/check.h"
#include "shm/entry.h"
#include "src/agent/escalation.h"
#include "src/control/trace_text.h"
#include "src/send/send_path.h"

namespace beeline {

// A message without options is sent with this envelope.
static_assert(SendOptions{}.rank == send::kPlainEnvelope.rank && SendOptions{}.ttl_ms == 0 &&
              SendOptions{}.reply_to == 0 && SendOptions{}.cause == 0 && SendOptions{}.hops == 0 &&
              SendOptions{}.type.empty() && SendOptions{}.channel.empty() &&
              !SendOptions{}.requires_ack && SendOptions{}.about == nullptr);

class Letterhead {
 public:
  // `handled`: the message to inherit from (Leases::origin), null if there is none. Both outlive
  // the letterhead. `step`: how much farther away from the origin it is than that.
  [[gnu::always_inline]] Letterhead(const SendOptions& options, const shm::Entry* handled,
                                    std::uint32_t step = 1)
      : Letterhead(options, options.reply_to, handled, step) {}
  // For an answer to this message, whatever the options say.
  [[gnu::always_inline]] Letterhead(const SendOptions& options, MessageId reply_to,
                                    const shm::Entry* handled, std::uint32_t step)
      : hops_(options.hops) {
    envelope_.rank = options.rank;
    if (!options.type.empty()) envelope_.type = options.type;
    if (!options.channel.empty()) envelope_.channel = options.channel;
    envelope_.reply_to = reply_to;
    envelope_.ttl_ms = options.ttl_ms;
    if (options.requires_ack) {
      envelope_.flags = shm::kFlagRequiresAck;
      extend().ack = shm::kToldAlways;
    }
    const bool inherits = handled != nullptr && (options.inherit || options.about != nullptr);
    if (inherits) hops_ = std::max(hops_, handled->header.hops + step);
    envelope_.hops = static_cast<std::uint16_t>(hops_);
    if (inherits || options.cause != 0 || !options.trace.empty()) {
      say_origin(options, inherits ? handled : nullptr);
    }
  }
  Letterhead(const Escalation& made, const shm::Entry* handled, std::uint32_t step)
      : Letterhead(made.options, handled, step) {
    if (made.full_length != 0) say_cut(made.full_length);
  }
  Letterhead(const Letterhead&) = delete;
  Letterhead& operator=(const Letterhead&) = delete;

  // The start of a payload that is too long for a broadcast, with a word about the rest; else
  // the whole.
  [[nodiscard]] std::span<const std::byte> cut(std::span<const std::byte> payload) {
    if (payload.size() <= send::kMaxCopyBytes) return payload;
    BEELINE_CHECK(payload.size() <= shm::kMaxMaxPayload, payload.size());
    say_cut(static_cast<std::uint32_t>(payload.size()));
    return payload.first(send::kMaxCopyBytes);
  }

  // The payload is the start of one of this length.
  void say_cut(std::uint32_t full_length) {
    extend().full_length = full_length;
    envelope_.flags |= shm::kFlagCut;
  }

  [[nodiscard]] const send::Envelope& envelope() const { return envelope_; }
  // Its receiver says so if it does not answer.
  void make_question() { envelope_.flags |= shm::kFlagRequiresAck; }
  // A task, or a word about one.
  void make_kind(shm::MessageKind kind) { extend().kind = static_cast<std::uint8_t>(kind); }
  void make_control() {
    envelope_.rank = kCritical;
    envelope_.flags |= shm::kFlagControl;
  }
  // Messages that led to this one, itself not counted; may be more than an envelope holds.
  [[nodiscard]] std::uint32_t hops() const { return hops_; }

 private:
  // The cause and trace as the sender says, or inherited where the sender says nothing.
  void say_origin(const SendOptions& options, const shm::Entry* handled) {
    TraceContext trace = options.trace;
    MessageId cause = options.cause;
    if (handled != nullptr) {
      if (cause == 0) cause = handled->header.id;
      if (trace.empty()) trace = control::trace_of(handled->extension());
    }
    // The cause of an answer is its question.
    if ((cause == envelope_.reply_to || cause == 0) && trace.empty()) return;
    shm::Extension& extension = extend();
    extension.cause = cause;
    control::set_trace(extension, trace);
  }
  shm::Extension& extend() {
    if (envelope_.extension == nullptr) {
      extension_ = {};
      envelope_.extension = &extension_;
    }
    return extension_;
  }

  send::Envelope envelope_;
  shm::Extension extension_;  // where the envelope names it
  std::uint32_t hops_;
};

}  // namespace beeline
