#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <beeline/spool.h>

namespace beeline::spool {

// Why a text cannot be the id of a task, in words; nothing if it can.
[[nodiscard]] std::optional<std::string> why_no_id(std::string_view id);

// The names of the files of a task.
[[nodiscard]] std::string task_file(std::string_view id);
[[nodiscard]] std::string result_file(std::string_view id);
[[nodiscard]] std::string error_file(std::string_view id);

// The id in the name of a file of the folder; nothing if the name has another form. It refers to
// `name`.
[[nodiscard]] std::optional<std::string_view> id_in(Folder folder, std::string_view name);

}  // namespace beeline::spool
