#pragma once

// Answers of a buffer as people read them.

#include <string>
#include <string_view>

#include <beeline/result.h>

#include "tools/beeline/output.h"

namespace beeline::cli {

// The words of a message are JSON on their way, so they are UTF-8. Errors: kInvalid.
[[nodiscard]] Result<void> check_text(std::string_view text);

[[nodiscard]] std::string batch_text(const Json& batch);
[[nodiscard]] std::string buffer_status_text(const Json& status);
[[nodiscard]] std::string message_table(const Json& messages);
[[nodiscard]] std::string batch_table(const Json& batches);
[[nodiscard]] std::string task_table(const Json& tasks);
// A row of `buffer show`, whole.
[[nodiscard]] std::string row_text(const Json& row);

}  // namespace beeline::cli
