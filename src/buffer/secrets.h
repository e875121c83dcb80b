#pragma once

#include <string>
#include <string_view>

#include <beeline/result.h>

#include "src/buffer/expansion.h"

namespace beeline::buffer {

// The texts of secrets.yaml by their path: `a: {b: x}` is "a.b". Errors: kInvalid, as
// FILE:LINE:COLUMN: TEXT, without any value.
[[nodiscard]] Result<Secrets> read_secrets(std::string_view text, const std::string& name);

}  // namespace beeline::buffer
