#pragma once

// The features that the design needs of the kernel, tested on the kernel itself.

#include <optional>
#include <string_view>
#include <vector>

#include <beeline/result.h>

namespace beeline::os {

struct KernelFact {
  std::string_view name;         // for example "memfd_seals"
  std::string_view needed_for;   // the part that needs it, in a few words
  std::optional<Error> missing;  // why it does not hold; none: it holds
};

// Tries each fact; takes some system calls and two pages of memory for a moment.
[[nodiscard]] std::vector<KernelFact> probe_kernel();

// True if the error of a fact says something about the kernel, and not that memory or descriptors
// ran out now.
[[nodiscard]] bool is_known(const Error& error);

// Errors: kSystem, with the first fact that does not hold and the next step; the probe's own error
// if memory or descriptors ran out.
[[nodiscard]] Result<void> require_kernel();

}  // namespace beeline::os
