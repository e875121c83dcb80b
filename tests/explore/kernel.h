#pragma once
// What src/wake asks the kernel for, as the explorer has it: eventfds that remember each ring. A
// descriptor is a number below kEvents. There is no time: a sleep ends when somebody rings, so that
// a ring that is lost is seen. And a socket: its orders are the kernel's, so none of them is
// counted or weakened.

#include <cstdint>

#include "shm/atomic.h"

namespace beeline::explore {

inline constexpr int kEvents = 4;

// Which one create_event_fd() gives to who asks next.
void number_next_event(int number);

// Before each execution that sleeps.
void clear_events();

// A socket is a word that one packet fits in: who receives it sees what its sender saw.
inline void send_packet(shm::Atomic<std::uint64_t>& socket) { socket.publish(1); }
[[nodiscard]] inline bool receive_packet(const shm::Atomic<std::uint64_t>& socket) {
  return socket.observe() != 0;
}

}  // namespace beeline::explore
