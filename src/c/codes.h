#pragma once

#include <beeline/c/types.h>
#include <beeline/result.h>
#include <beeline/types.h>

namespace beeline::c {

// The number of a code in the C interface. It never changes; the enum may be sorted anew.
[[nodiscard]] beeline_code code_of(ErrorCode code);
[[nodiscard]] beeline_code code_of(SendStatus status);

}  // namespace beeline::c
