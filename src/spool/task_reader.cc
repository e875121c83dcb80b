#include "src/spool/task_reader.h"

#include <utility>

#include <fmt/format.h>

#include "src/spool/failure.h"

namespace beeline::spool {

Outcome<Task> read_task_file(const FileBytes& file, std::string_view id) {
  const auto invalid = [](std::string_view why) { return failure(Code::kInvalidTask, why); };
  if (!file.facts.is_regular) return invalid("it is no regular file");
  if (file.facts.bytes > static_cast<std::int64_t>(kMostFileBytes)) {
    return invalid(
        fmt::format("it has {} bytes; at most {} are read", file.facts.bytes, kMostFileBytes));
  }
  auto task = read_task(file.bytes);
  if (!task) return task;
  if (task->id.empty()) task->id = id;
  if (task->id != id) {
    return invalid("its \"id\" is not the name of its file; give both the same");
  }
  return task;
}

}  // namespace beeline::spool
