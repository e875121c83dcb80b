#include "src/spool/lister.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "src/spool/failure.h"
#include "src/spool/half_claim.h"
#include "src/spool/id.h"
#include "src/spool/inbox_index.h"
#include "src/spool/moves.h"
#include "src/spool/task_reader.h"

namespace beeline::spool {
namespace {

std::string name_in(Folder folder, std::string_view id) {
  if (folder == Folder::kOutbox) return result_file(id);
  return folder == Folder::kFailed ? error_file(id) : task_file(id);
}

// The id that a file of the folder is about. A task that is just moved counts as being worked on.
std::optional<std::string> listed_id(Folder folder, std::string_view name) {
  if (const auto id = id_in(folder, name)) return std::string(*id);
  if (folder != Folder::kProcessing) return std::nullopt;
  const auto half = HalfClaim::parse(name);
  return half ? std::optional(half->id) : std::nullopt;
}

}  // namespace

Outcome<std::optional<Listed>> Lister::read(Folder folder, std::string_view id,
                                            const std::string& name) const {
  const auto file = files_.read({place_of(folder), name});
  Listed listed;
  listed.id = id;
  listed.folder = folder;
  if (!file) {
    listed.problem = file.error().text;
    return listed;
  }
  if (!*file) return std::nullopt;
  const FileBytes& bytes = **file;
  listed.changed_at = unix_seconds(bytes.facts.modified_ns);
  const auto keep = [&](auto&& found, auto& field) {
    if (found) {
      field = std::move(*found);
    } else {
      listed.problem = found.error().text;
    }
  };
  if (!bytes.facts.is_regular) {
    listed.problem = "it is no regular file";
  } else if (folder == Folder::kOutbox) {
    keep(read_completion(bytes.bytes), listed.completion);
  } else if (folder == Folder::kFailed) {
    keep(read_error(bytes.bytes), listed.error);
  } else {
    keep(read_task_file(bytes, id), listed.task);
  }
  return listed;
}

bool Lister::is_before(const Listed& left, const Listed& right) const {
  if (left.task && right.task) return key_of(*left.task, order_) < key_of(*right.task, order_);
  if (left.task.has_value() != right.task.has_value()) return left.task.has_value();
  return std::tie(left.changed_at, left.id) < std::tie(right.changed_at, right.id);
}

Outcome<std::vector<Listed>> Lister::list(Folder folder) const {
  const auto names = files_.names(place_of(folder));
  if (!names) return tl::unexpected(names.error());
  std::vector<Listed> all;
  for (const std::string& name : *names) {
    const auto id = listed_id(folder, name);
    if (!id) continue;
    auto listed = read(folder, *id, name);
    if (!listed) return tl::unexpected(listed.error());
    if (*listed) all.push_back(std::move(**listed));
  }
  std::sort(all.begin(), all.end(),
            [this](const Listed& left, const Listed& right) { return is_before(left, right); });
  return all;
}

Outcome<Listed> Lister::find(std::string_view id) const {
  const auto not_found = [&](std::string_view why) { return failure(Code::kTaskNotFound, why); };
  if (const auto why = why_no_id(id)) return not_found(*why);
  std::optional<Listed> ended;
  for (const Folder folder :
       {Folder::kProcessing, Folder::kInbox, Folder::kOutbox, Folder::kFailed}) {
    auto listed = read(folder, id, name_in(folder, id));
    if (!listed) return tl::unexpected(listed.error());
    if (!*listed) continue;
    const bool is_at_work = folder == Folder::kProcessing || folder == Folder::kInbox;
    if (is_at_work) return std::move(**listed);
    if (!ended || (**listed).changed_at > ended->changed_at) ended = std::move(*listed);
  }
  if (ended) return std::move(*ended);
  return not_found(fmt::format("{} has no task \"{}\"", files_.dir(), id));
}

}  // namespace beeline::spool
