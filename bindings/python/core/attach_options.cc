#include "bindings/python/core/attach_options.h"

#include <cstring>

#include "bindings/python/core/values.h"

namespace beeline::python {
namespace {

// A word of a list, as its place in it.
bool read_word(PyObject* from, const char* name, std::span<const char* const> words,
               std::int32_t* into) {
  const char* text = nullptr;
  if (!read_text(from, name, &text, nullptr)) return false;
  if (text == nullptr) return true;
  for (std::size_t at = 0; at < words.size(); ++at) {
    if (std::strcmp(words[at], text) != 0) continue;
    *into = static_cast<std::int32_t>(at);
    return true;
  }
  PyErr_Format(PyExc_ValueError, "%s is one of '%s', '%s' and '%s', not %R", name, words[0],
               words[1], words[2], from);
  return false;
}

constexpr std::array<const char*, 3> kOrders = {"aged", "strict", "fifo"};
constexpr std::array<const char*, 3> kWaits = {"adaptive", "sleep", "spin"};

}  // namespace

bool AttachOptions::read(std::span<PyObject* const> given) {
  beeline_attach_options_init(&options);
  const auto value = [&](std::size_t at) {
    return given[at] != nullptr && Py_IsNone(given[at]) ? nullptr : given[at];
  };
  return read_text(value(0), "hive", &options.hive, nullptr) &&
         read_text(value(1), "name", &options.name, nullptr) &&
         read_text(value(2), "parent", &options.parent, nullptr) &&
         read_text(value(3), "role", &options.role, nullptr) &&
         read_flag(value(4), &options.temporary) &&
         read_flag(value(5), &options.start_coordinator) &&
         read_flag(value(6), &options.raise_fd_limit) &&
         read_seconds(value(7), "control_timeout", &options.control_timeout_ns) &&
         read_word(value(8), "order", kOrders, &options.order) &&
         read_word(value(9), "wait", kWaits, &options.wait) &&
         read_seconds(value(10), "spin", &options.spin_ns) &&
         read_float(value(11), "aging_factor", &options.aging_factor) &&
         read_number(value(12), "inbox_capacity", &options.inbox_capacity) &&
         read_number(value(13), "max_attempts", &options.max_attempts) &&
         read_seconds(value(14), "retry_pause", &options.retry_pause_ns) &&
         read_number(value(15), "max_hops", &options.max_hops) &&
         read_number(value(16), "normal_slots", &options.normal_slots) &&
         read_number(value(17), "urgent_slots", &options.urgent_slots) &&
         read_number(value(18), "send_burst", &options.send_burst) &&
         read_id(value(19), "max_payload_bytes", &options.max_payload_bytes) &&
         read_float(value(20), "send_rate", &options.send_rate) &&
         read_float(value(21), "receive_rate", &options.receive_rate) &&
         read_number(value(22), "receive_burst", &options.receive_burst);
}

}  // namespace beeline::python
