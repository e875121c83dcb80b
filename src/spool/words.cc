// The names and texts of codes and folders.

#include <string_view>

#include <beeline/spool.h>

#include "src/spool/folder_files.h"

namespace beeline::spool {

std::string_view name_of(Code code) {
  switch (code) {
    case Code::kMailboxDir:
      return "ErrMailboxDir";
    case Code::kTaskExists:
      return "ErrTaskExists";
    case Code::kNoTasks:
      return "ErrNoTasks";
    case Code::kTaskNotFound:
      return "ErrTaskNotFound";
    case Code::kInvalidTask:
      return "ErrInvalidTask";
  }
  return "unknown";
}

std::string_view text_of(Code code) {
  switch (code) {
    case Code::kMailboxDir:
      return "mailbox directory error";
    case Code::kTaskExists:
      return "task already exists in inbox";
    case Code::kNoTasks:
      return "no tasks available";
    case Code::kTaskNotFound:
      return "task not found";
    case Code::kInvalidTask:
      return "invalid task format";
  }
  return "unknown";
}

std::string_view to_string(Folder folder) { return to_string(place_of(folder)); }

}  // namespace beeline::spool
