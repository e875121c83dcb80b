#pragma once
// What src/wake asks the kernel for, as the explorer has it: eventfds that remember each ring. A
// descriptor is a number below kEvents. There is no time: a sleep ends when somebody rings, so that
// a ring that is lost is seen.

#include <cstdint>

namespace beeline::explore {

inline constexpr int kEvents = 4;

// Which one create_event_fd() gives to who asks next.
void number_next_event(int number);

// Before each execution that sleeps.
void clear_events();

}  // namespace beeline::explore
