#pragma once
// The errors that each system call may plausibly return on a healthy kernel that runs out of
// memory, descriptors or disk, or that a signal interrupts.

#include <linux/seccomp.h>

#include <span>
#include <string_view>

namespace beeline::test {

// By number: calls with errors in the table, and calls that do not fail in such ways. Any other
// call is new in the code and missing here.
[[nodiscard]] bool is_failing_call(int number);
[[nodiscard]] std::span<const int> calls_that_do_not_fail();
[[nodiscard]] std::string_view name_of_call(int number);
// Empty for a call that cannot fail with these arguments.
[[nodiscard]] std::span<const int> plausible_errors(const seccomp_notif& request);

}  // namespace beeline::test
