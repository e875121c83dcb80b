#include "tools/beeline/task_work.h"

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <beeline/message.h>

#include "src/os/error.h"
#include "src/os/memfd.h"

namespace beeline::cli {
namespace {

// The kernel takes 128 KiB for a variable, and a quarter of the stack, 2 MiB, for all.
constexpr std::size_t kMostOfOne = std::size_t{127} << 10;
constexpr std::size_t kMostOfAll = std::size_t{1} << 20;

Result<os::UniqueFd> file_with(std::string_view text) {
  auto file = os::create_memfd("task-context", text.size());
  if (!file) return file;
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t count =
        ::pwrite(file->get(), text.data() + at, text.size() - at, static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return os::system_failure("cannot write the context of a task to a file");
    at += static_cast<std::size_t>(count);
  }
  return file;
}

Result<void> add_params(const Task& task, CommandLine& command) {
  std::size_t sum = 0;
  for (const auto& [key, value] : task.params) {
    const auto refused = [name = std::string_view(key)](std::string_view why) {
      return fail(ErrorCode::kInvalid, fmt::format("the parameter \"{}\" {}", name, why));
    };
    constexpr std::string_view kNever("=\0", 2);
    if (key.empty() || key.find_first_of(kNever) != std::string::npos) {
      return refused("is no name of a variable");
    }
    if (value.find('\0') != std::string::npos) {
      return refused("holds a zero byte, and a variable cannot");
    }
    sum += key.size() + value.size();
    if (key.size() + value.size() > kMostOfOne || sum > kMostOfAll) {
      return refused("is too long for the environment (127 KiB each, 1 MiB all)");
    }
    command.environment.emplace_back("BEELINE_PARAM_" + key, value);
  }
  return {};
}

}  // namespace

Result<CommandLine> command_for(const std::string& text, TaskWork& work) {
  const Task& task = work.run.task();
  for (const std::string& id : {task.id, task.parent_task}) {
    if (id.size() <= kMostOfOne && id.find('\0') == std::string::npos) continue;
    return fail(ErrorCode::kInvalid,
                fmt::format("an id of the task ({} bytes) holds a zero byte or is too long for the "
                            "environment (127 KiB)",
                            id.size()));
  }
  CommandLine command{text,
                      {{"BEELINE_MESSAGE_ID", id_text(work.run.id())},
                       {"BEELINE_MESSAGE_FROM", fmt::format("{}", work.run.from())},
                       {"BEELINE_TASK_ID", task.id},
                       {"BEELINE_TASK_PARENT", task.parent_task}}};
  std::string path;
  if (!task.context.empty()) {
    auto file = file_with(task.context);
    if (!file) return tl::unexpected(std::move(file.error()));
    work.context = std::move(*file);
    path = fmt::format("/proc/{}/fd/{}", ::getpid(), work.context.get());
  }
  command.environment.emplace_back("BEELINE_TASK_CONTEXT", std::move(path));
  if (auto added = add_params(task, command); !added) {
    return tl::unexpected(std::move(added.error()));
  }
  return command;
}

}  // namespace beeline::cli
