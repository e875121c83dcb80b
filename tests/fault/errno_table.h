#pragma once
// Which errors each system call may plausibly give on a healthy kernel whose memory, descriptors or
// disk run out, or that a signal interrupts.

#include <linux/seccomp.h>

#include <span>
#include <string_view>

namespace beeline::test {

// By number: those that the table has errors of, and those that fail in no such way. A call that is
// neither is one that somebody has begun to make and not thought of here.
[[nodiscard]] bool is_failing_call(int number);
[[nodiscard]] std::span<const int> calls_that_do_not_fail();
[[nodiscard]] std::string_view name_of_call(int number);
// Empty for a call that cannot fail with these arguments.
[[nodiscard]] std::span<const int> plausible_errors(const seccomp_notif& request);

}  // namespace beeline::test
