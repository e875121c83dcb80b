#include "src/steward/roster.h"

#include <charconv>
#include <utility>

#include "src/service/log.h"

namespace beeline::steward {

Result<Child*> Roster::add(Child child) {
  if (auto added = store_.add(child); !added) return tl::unexpected(added.error());
  return &take(std::move(child));
}

Child& Roster::take(Child child) {
  const std::int64_t id = child.id;
  const Pid pid = child.pid;
  if (pid != 0) by_pid_[pid] = id;
  return children_.insert_or_assign(id, std::move(child)).first->second;
}

void Roster::set_pid(Child& child, Pid pid) {
  child.pid = pid;
  by_pid_[pid] = child.id;
}

void Roster::save(const Child& child) {
  if (auto saved = store_.save(child); !saved) service::log_warn("not_saved", saved.error().text);
}

Child Roster::take_out(std::int64_t id) {
  Child child = std::move(children_.extract(id).mapped());
  if (auto removed = store_.remove(child); !removed) {
    service::log_warn("not_removed", removed.error().text);
  }
  // A child that was started meanwhile may have the same PID.
  const auto found = by_pid_.find(child.pid);
  if (found != by_pid_.end() && found->second == id) by_pid_.erase(found);
  return child;
}

void Roster::remove(std::int64_t id) {
  if (children_.contains(id)) (void)take_out(id);
}

Child* Roster::find(std::int64_t id) {
  const auto found = children_.find(id);
  return found == children_.end() ? nullptr : &found->second;
}

Child* Roster::find_pid(Pid pid) {
  const auto found = by_pid_.find(pid);
  return found == by_pid_.end() ? nullptr : find(found->second);
}

Child* Roster::find_process(std::int32_t os_pid) {
  for (auto& [id, child] : children_) {
    if (os_pid != 0 && child.os_pid == os_pid) return &child;
  }
  return nullptr;
}

Child* Roster::find_text(std::string_view text) {
  Pid pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (error == std::errc() && end == text.data() + text.size()) return find_pid(pid);
  for (auto at = children_.rbegin(); at != children_.rend(); ++at) {
    if (at->second.spec.name == text) return &at->second;
  }
  return nullptr;
}

Child* Roster::find_request(const RequestTag& request) {
  for (auto at = children_.rbegin(); at != children_.rend(); ++at) {
    const RequestTag& other = at->second.request;
    if (other.caller == request.caller && other.word == request.word) return &at->second;
  }
  return nullptr;
}

std::vector<Child*> Roster::all() {
  std::vector<Child*> all;
  all.reserve(children_.size());
  for (auto& [id, child] : children_) all.push_back(&child);
  return all;
}

std::vector<Child*> Roster::outdated(std::int64_t now_unix_ns) {
  std::vector<Child*> ended;
  for (auto& [id, child] : children_) {
    if (child.phase == Phase::kEnded && child.is_forgotten) ended.push_back(&child);
  }
  std::vector<Child*> outdated;
  for (std::size_t i = 0; i < ended.size(); ++i) {
    const bool is_extra = ended.size() - i > static_cast<std::size_t>(kMostEnds);
    if (is_extra || now_unix_ns - ended[i]->ended_unix_ns > kEndLifeNs) {
      outdated.push_back(ended[i]);
    }
  }
  return outdated;
}

}  // namespace beeline::steward
