#pragma once
// Which errors each system call may plausibly give on a healthy kernel whose memory, descriptors or
// disk run out, or that a signal interrupts.

#include <linux/seccomp.h>

#include <span>
#include <string_view>
#include <vector>

namespace beeline::test {

// The calls that the table knows, by number.
[[nodiscard]] std::vector<int> failing_calls();
[[nodiscard]] std::string_view name_of_call(int number);
// Empty for a call that cannot fail with these arguments.
[[nodiscard]] std::span<const int> plausible_errors(const seccomp_notif& request);

}  // namespace beeline::test
