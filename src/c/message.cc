#include <beeline/c/message.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "src/c/agent_handle.h"
#include "src/c/arguments.h"
#include "src/c/options.h"

using namespace beeline::c;  // NOLINT(google-build-using-namespace): this is its outside

namespace {

static_assert(kFirstMessageInfo <= sizeof(beeline_message_info));

bool is_held(const beeline_message* message) {
  return message != nullptr && message->message.valid();
}

// The library keeps words to 31 bytes.
void copy_word(std::string_view word, char (&to)[BEELINE_WORD_SIZE]) {
  word = word.substr(0, BEELINE_WORD_SIZE - 1);
  *std::copy(word.begin(), word.end(), to) = '\0';
}

beeline_message_info info_of(const beeline::Message& message) {
  beeline_message_info info{};
  info.id = message.id();
  info.from = message.from();
  info.to = message.to();
  info.reply_to = message.reply_to();
  info.cause = message.cause();
  const beeline::TraceContext trace = message.trace();
  std::copy(trace.trace_id.begin(), trace.trace_id.end(), std::begin(info.trace.trace_id));
  std::copy(trace.span_id.begin(), trace.span_id.end(), std::begin(info.trace.span_id));
  info.trace.flags = trace.flags;
  info.rank = message.rank();
  info.hops = message.hops();
  info.attempts = message.attempts();
  info.ttl_ms = message.ttl_ms();
  info.sent_ns = message.sent_ns();
  info.full_length = message.full_length();
  info.redelivered = message.redelivered();
  info.is_copy = message.is_copy();
  info.is_cut = message.is_cut();
  info.is_control = message.is_control();
  info.requires_ack = message.requires_ack();
  copy_word(message.type(), info.type);
  copy_word(message.channel(), info.channel);
  return info;
}

// Not inline, so that beeline_message_free() is short.
[[gnu::noinline]] void free_orphan(beeline_message* message) { delete message; }

}  // namespace

void beeline_message_free(beeline_message* message) {
  if (message == nullptr) return;
  if (message->agent == nullptr) return free_orphan(message);
  message->agent->messages.give_back(message);
}

bool beeline_message_is_held(const beeline_message* message) { return is_held(message); }

const void* beeline_message_payload(const beeline_message* message, size_t* length) {
  if (!is_held(message)) [[unlikely]] {
    if (length != nullptr) *length = 0;
    return nullptr;
  }
  const auto bytes = message->message.payload();
  if (length != nullptr) *length = bytes.size();
  return bytes.data();
}

beeline_code beeline_message_describe(const beeline_message* message, beeline_message_info* info) {
  return checked(__func__, {{"message", message}, {"info", info}},
                 [&](const char* function) -> beeline_code {
                   if (!is_held(message)) {
                     return ended(function, "the lease of this message has ended");
                   }
                   beeline_message_info found = info_of(message->message);
                   return write_sized(function, "info", info, kFirstMessageInfo, found);
                 });
}

beeline_id beeline_message_id(const beeline_message* message) {
  return is_held(message) ? message->message.id() : 0;
}

const char* beeline_message_from_name(const beeline_message* message, size_t* length) {
  if (length != nullptr) *length = 0;
  if (!is_held(message)) return "";
  return guarded_or(__func__, "", [&]() -> const char* {
    message->from_name = message->message.from_name();
    if (length != nullptr) *length = message->from_name.size();
    return message->from_name.c_str();
  });
}

int32_t beeline_message_relation(const beeline_message* message) {
  if (!is_held(message)) return BEELINE_FROM_OTHER;
  return static_cast<int32_t>(message->message.relation());
}

beeline_pid beeline_message_via(const beeline_message* message) {
  return is_held(message) ? message->message.via() : 0;
}

bool beeline_message_is_cancelled(beeline_message* message) {
  return !is_held(message) || message->message.cancelled();
}

void beeline_message_done(beeline_message* message, const char* reply, size_t length) {
  if (message == nullptr) return;
  if (reply == nullptr) return message->message.done();
  message->message.done(text_of(reply, length));
}
void beeline_message_requeue(beeline_message* message) {
  if (message != nullptr) message->message.requeue();
}
void beeline_message_put_back(beeline_message* message) {
  if (message != nullptr) message->message.put_back();
}
void beeline_message_reject(beeline_message* message, const char* reply, size_t length) {
  if (message != nullptr) message->message.reject(text_of(reply, length));
}
void beeline_message_defer(beeline_message* message) {
  if (is_held(message)) message->message.defer();
}

beeline_code beeline_message_escalate(beeline_message* message) {
  return checked(__func__, {{"message", message}}, [&](const char* function) -> beeline_code {
    if (!is_held(message)) return ended(function, "the lease of this message has ended");
    return outcome_of(message->message.escalate(), nullptr);
  });
}
