#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include <beeline/c/types.h>
#include <beeline/payload.h>
#include <beeline/to.h>
#include <beeline/types.h>

#include "src/c/failure.h"

namespace beeline::c {

inline std::string_view text_of(const char* text, std::size_t length) {
  if (text == nullptr) return {};
  return length == BEELINE_TEXT ? std::string_view(text) : std::string_view(text, length);
}

inline Payload payload_of(const void* bytes, std::size_t length) {
  return std::span(static_cast<const std::byte*>(bytes), length);
}

// Both have the same form, and a cast costs nothing.
inline Peer peer_of(beeline_peer peer) { return std::bit_cast<Peer>(peer); }
inline beeline_peer peer_of(Peer peer) { return {peer.slot, peer.pid}; }
inline To to_of(beeline_peer peer) {
  return peer.slot == UINT32_MAX ? To(peer.pid) : To(peer_of(peer));
}

inline std::chrono::nanoseconds wait_of(std::int64_t timeout_ns) {
  return std::chrono::nanoseconds(timeout_ns < 0 ? 0 : timeout_ns);
}
inline Deadline deadline_of(std::int64_t timeout_ns) {
  return timeout_ns <= 0 ? Deadline::min() : after(wait_of(timeout_ns));
}
// The C++ calls that wait for an answer refuse a wait without an end. A century is no less.
inline Deadline answer_deadline_of(std::int64_t timeout_ns) {
  constexpr std::chrono::hours kCentury(24 * 36'525);
  return after(std::min<std::chrono::nanoseconds>(wait_of(timeout_ns), kCentury));
}

// An argument that may not be null.
struct Argument {
  const char* name;
  const void* value;
};
// Bytes, of which there may be none.
inline Argument bytes_argument(const char* name, const void* value, std::size_t length) {
  return {name, length == 0 ? "" : value};
}

// The frame of a call: its arguments are there, and no exception leaves it. `call` gets the name of
// the function, for its errors.
template <typename Call>
beeline_code checked(const char* function, std::initializer_list<Argument> needed,
                     const Call& call) {
  for (const Argument& each : needed) {
    if (each.value == nullptr) return missing(function, each.name);
  }
  return guarded(function, [&] { return call(function); });
}

}  // namespace beeline::c
