#include "src/c/options.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "src/c/arguments.h"
#include "src/c/message_handle.h"

namespace beeline::c {

static_assert(kFirstSendOptions <= sizeof(beeline_send_options));
static_assert(kFirstFilter <= sizeof(beeline_filter));
static_assert(kFirstAttachOptions <= sizeof(beeline_attach_options));

beeline_code check_size(const char* function, const char* argument, std::size_t size,
                        std::size_t first) {
  if (size >= first) return BEELINE_OK;
  return invalid(function, {"`", argument, "->size` is ", std::to_string(size), ", at least ",
                            std::to_string(first),
                            " is needed: call the `_init` function of the struct first"});
}

beeline_code refuse_unknown(const char* function, const char* argument, std::size_t size,
                            std::size_t known) {
  return invalid(function, {"`", argument, "` sets fields that version ", beeline_version(),
                            " of the library does not know: its struct has ", std::to_string(known),
                            " bytes, yours has ", std::to_string(size), ": use a newer library"});
}

namespace {

SendOptions translated(const beeline_send_options& given) {
  SendOptions options;
  options.rank = given.rank;
  options.type = text_of(given.type, given.type_length);
  options.channel = text_of(given.channel, given.channel_length);
  options.reply_to = given.reply_to;
  options.ttl_ms = given.ttl_ms;
  options.cause = given.cause;
  std::copy(std::begin(given.trace.trace_id), std::end(given.trace.trace_id),
            options.trace.trace_id.begin());
  std::copy(std::begin(given.trace.span_id), std::end(given.trace.span_id),
            options.trace.span_id.begin());
  options.trace.flags = given.trace.flags;
  options.inherit = given.inherit;
  options.requires_ack = given.requires_ack;
  options.cancel_on_timeout = given.cancel_on_timeout;
  options.hops = given.hops;
  if (given.about != nullptr) options.about = &given.about->message;
  return options;
}

}  // namespace

beeline_code read_options(const char* function, const beeline_send_options* given,
                          SendOptions& options) {
  if (given == nullptr) return BEELINE_OK;
  if (given->size == sizeof *given) {
    options = translated(*given);
    return BEELINE_OK;
  }
  beeline_send_options known;
  const beeline_code read =
      read_sized(function, "options", given, kFirstSendOptions, beeline_send_options_init, known);
  if (read == BEELINE_OK) options = translated(known);
  return read;
}

beeline_code read_options(const char* function, const beeline_filter* given, Filter& filter) {
  if (given == nullptr) return BEELINE_OK;
  beeline_filter known;
  const beeline_code read =
      read_sized(function, "filter", given, kFirstFilter, beeline_filter_init, known);
  if (read != BEELINE_OK) return read;
  filter.from = known.from;
  filter.type = text_of(known.type, known.type_length);
  filter.channel = text_of(known.channel, known.channel_length);
  filter.reply_to = known.reply_to;
  filter.oldest_first = known.oldest_first;
  return BEELINE_OK;
}

namespace {

beeline_code check_numbers(const char* function, const beeline_attach_options& given) {
  const auto refuse = [&](const char* field, std::int64_t value, std::int64_t most) {
    return invalid(function, {"`options->", field, "` is ", std::to_string(value),
                              ", it must be from 0 to ", std::to_string(most)});
  };
  if (given.order < BEELINE_AGED || given.order > BEELINE_FIFO) {
    return refuse("order", given.order, BEELINE_FIFO);
  }
  if (given.wait < BEELINE_WAIT_ADAPTIVE || given.wait > BEELINE_WAIT_SPIN) {
    return refuse("wait", given.wait, BEELINE_WAIT_SPIN);
  }
  if (given.max_hops > UINT16_MAX) return refuse("max_hops", given.max_hops, UINT16_MAX);
  return BEELINE_OK;
}

}  // namespace

beeline_code read_options(const char* function, const beeline_attach_options* given,
                          AttachOptions& options) {
  beeline_attach_options known;
  beeline_code read = read_sized(function, "options", given, kFirstAttachOptions,
                                 beeline_attach_options_init, known);
  if (read == BEELINE_OK) read = check_numbers(function, known);
  if (read != BEELINE_OK) return read;
  options.hive = text_of(known.hive, BEELINE_TEXT);
  options.name = text_of(known.name, BEELINE_TEXT);
  options.parent = text_of(known.parent, BEELINE_TEXT);
  if (known.role != nullptr) options.role = known.role;
  options.temporary = known.temporary;
  options.start_coordinator = known.start_coordinator;
  options.raise_fd_limit = known.raise_fd_limit;
  options.control_timeout = std::chrono::nanoseconds(known.control_timeout_ns);
  options.order = static_cast<Order>(known.order);
  options.aging_factor = known.aging_factor;
  options.inbox_capacity = known.inbox_capacity;
  options.max_attempts = known.max_attempts;
  options.retry_pause = std::chrono::nanoseconds(known.retry_pause_ns);
  options.max_hops = static_cast<std::uint16_t>(known.max_hops);
  options.normal_slots = known.normal_slots;
  options.urgent_slots = known.urgent_slots;
  options.max_payload_bytes = known.max_payload_bytes;
  options.send_rate = known.send_rate;
  options.send_burst = known.send_burst;
  options.receive_rate = known.receive_rate;
  options.receive_burst = known.receive_burst;
  options.wait = static_cast<WaitMode>(known.wait);
  options.spin = std::chrono::nanoseconds(known.spin_ns);
  return BEELINE_OK;
}

}  // namespace beeline::c
