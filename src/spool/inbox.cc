#include "src/spool/inbox.h"

#include <cerrno>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "src/spool/id.h"
#include "src/spool/printable.h"
#include "src/spool/task_reader.h"

namespace beeline::spool {

Inbox::Inbox(Moves& moves, const Options& options, NameWatch& watch)
    : moves_(moves), options_(options), watch_(watch) {
  // Before the first look, so that nothing falls between the two.
  is_told_ = watch_.add(moves_.files(), Place::kInbox);
  if (!is_told_) {
    moves_.remarks().add(
        fmt::format("the kernel tells nothing of {} now (inotify: see "
                    "fs.inotify.max_user_instances); it is looked at every {} ms",
                    moves_.files().dir(), options_.poll_every.count()));
  }
}

Outcome<bool> Inbox::refresh() {
  bool has_claims = false;
  const auto now = std::chrono::steady_clock::now();
  auto events = watch_.take();
  for (const NameWatch::Event& event : events) {
    if (event.kind == NameWatch::Kind::kLost) must_look_ = true;
    if (event.place == Place::kProcessing) has_claims = true;
  }
  if (needs_looks() && now >= next_look_) must_look_ = must_look_ || !is_told_ || options_.shared;
  if (must_look_) {
    if (auto looked = look_at_all(); !looked) return tl::unexpected(looked.error());
    must_look_ = false;
    next_look_ = now + options_.poll_every;
    events.clear();
  }
  for (const NameWatch::Event& event : events) {
    if (event.place != Place::kInbox) continue;
    if (event.kind == NameWatch::Kind::kWent) {
      if (const auto id = id_in(Folder::kInbox, event.name)) index_.erase(*id);
      continue;
    }
    const bool is_finished = event.kind == NameWatch::Kind::kCame;
    if (auto looked = look_at_name(event.name, is_finished); !looked) {
      return tl::unexpected(looked.error());
    }
  }
  if (!blocked_.empty()) {
    if (auto freed = unblock(); !freed) return tl::unexpected(freed.error());
  }
  return has_claims;
}

void Inbox::block(const std::string& id) {
  index_.erase(id);
  blocked_.insert(id);
}

Outcome<void> Inbox::unblock() {
  for (auto id = blocked_.begin(); id != blocked_.end();) {
    if (moves_.files().facts({Place::kProcessing, task_file(*id)})) {
      ++id;
      continue;
    }
    const std::string freed = *id;
    id = blocked_.erase(id);
    if (auto looked = look_at(freed); !looked) return looked;
  }
  return {};
}

Outcome<void> Inbox::look_at_all() {
  const auto names = moves_.files().names(Place::kInbox);
  if (!names) return tl::unexpected(names.error());
  std::unordered_set<std::string_view> there;
  for (const std::string& name : *names) {
    const auto id = id_in(Folder::kInbox, name);
    if (id) there.insert(*id);
    if (id && index_.has(*id)) continue;
    if (auto looked = look_at_name(name, false); !looked) return looked;
  }
  std::vector<std::string> gone;
  for (const ClaimKey& key : index_.keys()) {
    if (!there.contains(key.id)) gone.push_back(key.id);
  }
  for (const std::string& id : gone) index_.erase(id);
  return {};
}

Outcome<void> Inbox::look_at(const std::string& id) { return look_at_name(task_file(id), false); }

// `is_finished`: its writer has closed it.
Outcome<void> Inbox::look_at_name(const std::string& name, bool is_finished) {
  const FileName at{Place::kInbox, name};
  const auto id = id_in(Folder::kInbox, name);
  const auto leave = [&](std::string_view why) {
    moves_.remarks().add(
        fmt::format("left {}/inbox/{} alone: {}", moves_.files().dir(), printable(name), why));
  };
  if (!id) {
    leave("its name is not ID.json with an id that can be a file name");
    return {};
  }
  const auto file = moves_.files().read(at);
  if (!file) {
    // One file that this user may not read does not stop the others.
    if (file.error().sys_errno != EACCES && file.error().sys_errno != EPERM) {
      must_look_ = true;
      return tl::unexpected(file.error());
    }
    leave("this user may not read it");
    return {};
  }
  if (!*file || blocked_.contains(std::string(*id))) return {};
  if (!(**file).facts.is_regular) {
    leave("it is no regular file");
    return {};
  }
  const auto task = read_task_file(**file, *id);
  if (task) {
    index_.put(key_of(*task, options_.order));
    return {};
  }
  if (!is_finished && moves_.files().is_being_written(at)) return {};
  index_.erase(*id);
  return moves_.reject(at, *id, task.error().text);
}

}  // namespace beeline::spool
