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

/// Tries each fact; takes some system calls and a page of memory for a moment.
[[nodiscard]] std::vector<KernelFact> probe_kernel();

/// Errors: kSystem, with the first fact that does not hold and what to do.
[[nodiscard]] Result<void> require_kernel();

}  // namespace beeline::os
