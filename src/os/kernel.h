#pragma once

// What the design needs of the kernel, asked of the kernel itself.

#include <optional>
#include <string_view>
#include <vector>

#include <beeline/result.h>

namespace beeline::os {

struct KernelFact {
  std::string_view name;         ///< for example "memfd_seals"
  std::string_view needed_for;   ///< what rests on it, in a few words
  std::optional<Error> missing;  ///< why it does not hold; none: it does
};

/// Tries each fact; takes some system calls and two pages of memory for a moment.
[[nodiscard]] std::vector<KernelFact> probe_kernel();

/// Whether the error of a fact tells something of the kernel: not of memory or descriptors that ran
/// out now.
[[nodiscard]] bool is_known(const Error& error);

/// Errors: kSystem, with the first fact that does not hold and what to do; what the probe failed
/// with where memory or descriptors ran out.
[[nodiscard]] Result<void> require_kernel();

}  // namespace beeline::os
