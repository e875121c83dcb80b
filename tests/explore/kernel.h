#pragma once
// The kernel calls of src/wake in the explorer: eventfds that remember each ring. A descriptor is a
// number below kEvents. There is no time: a sleep ends only by a ring, so a lost ring is seen. Also
// a socket: its orders belong to the kernel, so none of them is counted or weakened.

#include <cstdint>

#include "shm/atomic.h"

namespace beeline::explore {

inline constexpr int kEvents = 4;

// The number that the next create_event_fd() returns.
void number_next_event(int number);

// Before each execution that sleeps.
void clear_events();

// A socket is a word with room for one packet: its receiver sees everything that its sender saw.
inline void send_packet(shm::Atomic<std::uint64_t>& socket) { socket.publish(1); }
[[nodiscard]] inline bool receive_packet(const shm::Atomic<std::uint64_t>& socket) {
  return socket.observe() != 0;
}

}  // namespace beeline::explore
