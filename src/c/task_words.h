#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/c/tasks.h>
#include <beeline/task.h>

namespace beeline::c {

// They refer to what they are made from.
inline beeline_bytes bytes_of(std::string_view text) { return {text.data(), text.size()}; }
[[nodiscard]] std::vector<beeline_pair> pairs_of(const std::map<std::string, std::string>& map);

// Errors: a size, or bytes that are null.
beeline_code read_work(const char* function, const beeline_work* given, Task& task);
beeline_code read_outcome(const char* function, const beeline_outcome* given, TaskResult& result);

}  // namespace beeline::c
