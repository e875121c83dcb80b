#pragma once

#include <string_view>

#include <beeline/spool.h>

#include "src/spool/folder_files.h"

namespace beeline::spool {

// Reads the task that a file named after `id` holds. The name counts: a file without an id gets it,
// and one with another id is no task. Errors: kInvalidTask.
[[nodiscard]] Outcome<Task> read_task_file(const FileBytes& file, std::string_view id);

}  // namespace beeline::spool
