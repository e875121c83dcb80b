#include "bindings/python/core/send_options.h"

#include <algorithm>
#include <string_view>

#include "bindings/python/core/message.h"
#include "bindings/python/core/values.h"

namespace beeline::python {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;

bool is_any(std::span<PyObject* const> given) {
  return std::any_of(given.begin(), given.end(),
                     [](PyObject* value) { return value != nullptr && !Py_IsNone(value); });
}

PyObject* none_as_null(PyObject* value) {
  return value != nullptr && Py_IsNone(value) ? nullptr : value;
}

bool read_ttl(PyObject* from, std::uint32_t* into_ms) {
  from = none_as_null(from);
  if (from == nullptr) return true;
  std::int64_t ns = 0;
  if (!read_seconds(from, "ttl", &ns)) return false;
  const std::int64_t ms = ns / kNsPerMs + (ns % kNsPerMs != 0 ? 1 : 0);
  if (ms == 0 || ms > UINT32_MAX) {
    PyErr_Format(PyExc_ValueError,
                 "ttl is a time in seconds, more than 0 and at most 4294967, or None for a message "
                 "that never expires; not %R",
                 from);
    return false;
  }
  *into_ms = static_cast<std::uint32_t>(ms);
  return true;
}

}  // namespace

bool SendOptions::read(std::span<PyObject* const> given) {
  if (!is_any(given)) return true;
  is_plain_ = false;
  beeline_send_options_init(&options_);
  const auto value = [&](std::size_t at) { return none_as_null(given[at]); };
  about_ = value(10);
  return read_text(value(0), "type", &options_.type, &options_.type_length) &&
         read_text(value(1), "channel", &options_.channel, &options_.channel_length) &&
         read_number(value(2), "rank", &options_.rank, INT32_MIN) &&
         read_id(value(3), "reply_to", &options_.reply_to) &&
         read_id(value(4), "cause", &options_.cause) && read_ttl(value(5), &options_.ttl_ms) &&
         read_trace(value(6), &options_.trace) && read_number(value(7), "hops", &options_.hops) &&
         read_flag(value(8), &options_.requires_ack) && read_flag(value(9), &options_.inherit) &&
         read_flag(value(11), &options_.cancel_on_timeout);
}

bool SendOptions::bind(Attachment& agent) {
  if (about_ == nullptr) return true;
  if (!agent.state().is(about_, Kind::kMessage)) {
    PyErr_Format(PyExc_TypeError, "about is a Message or None, not %S", type_name(about_).get());
    return false;
  }
  auto& message = *reinterpret_cast<Message*>(about_);
  if (&message.attachment() != &agent) {
    PyErr_SetString(PyExc_ValueError, "about is a message of another agent: name one of this one");
    return false;
  }
  if (!message.enter()) return false;
  options_.about = message.handle;
  return true;
}

void SendOptions::require_ack() {
  if (is_plain_) beeline_send_options_init(&options_);
  is_plain_ = false;
  options_.requires_ack = true;
}

bool Filter::read(std::span<PyObject* const> given) {
  if (!is_any(given)) return true;
  is_plain_ = false;
  beeline_filter_init(&filter_);
  const auto value = [&](std::size_t at) { return none_as_null(given[at]); };
  // An empty text is any type, as the default of the Python layer is.
  const auto word = [&](std::size_t at, const char* name, const char** into, std::size_t* length) {
    if (!read_text(value(at), name, into, length)) return false;
    if (*into != nullptr && **into == '\0') *into = nullptr;
    return true;
  };
  return read_number(value(0), "sender", &filter_.from) &&
         word(1, "type", &filter_.type, &filter_.type_length) &&
         word(2, "channel", &filter_.channel, &filter_.channel_length) &&
         read_id(value(3), "reply_to", &filter_.reply_to) &&
         read_flag(value(4), &filter_.oldest_first);
}

}  // namespace beeline::python
