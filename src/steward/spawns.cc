#include "src/steward/spawns.h"

#include <unistd.h>

#include <utility>

#include <fmt/format.h>

#include "src/service/log.h"
#include "src/steward/answer.h"
#include "src/steward/request.h"
#include "src/steward/spawn_checks.h"

namespace beeline::steward {

namespace {

// Operators are one caller, because each command is an agent of its own.
constexpr Pid kOperators = 0;

RequestTag tag_of(const Caller& caller, const SpawnOptions& options, MessageId id) {
  if (options.key.empty()) return {caller.actor.pid, "#" + id_text(id)};
  return {caller.is_operator ? kOperators : caller.actor.pid, "=" + options.key};
}

std::string answer_of(const Child& child) {
  return spawned_text({child.pid, child.spec.name, child.os_pid});
}

}  // namespace

void Spawns::handle(const Caller& caller, SpawnOptions options, Message message) {
  const RequestTag tag = tag_of(caller, options, message.id());
  // Only a message that comes again, or a key, can name a spawn of before.
  if (!options.key.empty() || message.redelivered()) {
    if (auto known = parts_.store.answer(tag)) {
      return parts_.letters.answer(std::move(message), std::move(*known));
    }
    if (Child* const child = parts_.roster.find_request(tag); child != nullptr) {
      const bool is_first = child->phase == Phase::kStarting && child->restarts == 0;
      if (!is_first) return parts_.letters.answer(std::move(message), answer_of(*child));
      message.defer();
      (void)waits_.add(child->id, std::move(message));
      return;
    }
  }
  auto wanted = complete(caller, std::move(options));
  if (!wanted) return parts_.letters.answer(std::move(message), error_text(wanted.error()));
  wanted->request = tag;
  const auto started = parts_.nursery.start(std::move(*wanted));
  if (!started) return parts_.letters.answer(std::move(message), error_text(started.error()));
  message.defer();
  (void)waits_.add((*started)->id, std::move(message));
}

Result<Child*> Spawns::start(const Caller& caller, SpawnOptions options,
                             const std::string& file_spec) {
  auto wanted = complete(caller, std::move(options));
  if (!wanted) return tl::unexpected(std::move(wanted.error()));
  wanted->file_spec = file_spec;
  return parts_.nursery.start(std::move(*wanted));
}

Result<Pid> Spawns::find_parent(const Caller& caller, const std::string& text) const {
  if (text.empty()) return caller.is_operator ? 1 : caller.actor.pid;
  const Member* const parent = parts_.family.find(text);
  if (parent == nullptr) return Pid{0};  // the rules say so
  const bool may = caller.is_operator || parent->pid == caller.actor.pid ||
                   parts_.family.is_below(parent->pid, caller.actor.pid);
  if (may) return parent->pid;
  return fail(ErrorCode::kDenied,
              fmt::format("{}PID {} may start children for itself and for its descendants, and "
                          "{} (PID {}) is none of them",
                          kSpawnDenied, caller.actor.pid, parent->name, parent->pid));
}

bool Spawns::is_ending(Pid pid) const {
  for (Pid each = pid; each > 1;) {
    const Child* const child = parts_.roster.find_pid(each);
    if (child != nullptr && child->is_unwanted) return true;
    const Member* const member = parts_.family.find(each);
    if (member == nullptr) return false;
    each = member->parent;
  }
  return false;
}

std::uint32_t Spawns::count_children(Pid pid) const {
  std::uint32_t count = 0;
  for (const Pid each : parts_.family.children_of(pid)) {
    // Commands come and go, and a list may name an agent that was forgotten meanwhile. A child that
    // was killed on request has left its place; one that ended by itself keeps it until it is
    // forgotten.
    const Member* const member = parts_.family.find(each);
    const Child* const child = parts_.roster.find_pid(each);
    const bool was_killed = child != nullptr && child->was_killed();
    if (!member->is_temporary && member->state != State::kDead && !was_killed) ++count;
  }
  return count;
}

Result<Child> Spawns::complete(const Caller& caller, SpawnOptions options) {
  const auto parent = find_parent(caller, options.parent);
  if (!parent) return tl::unexpected(parent.error());
  const Role role = role_from(options.role).value_or(Role::kWorker);
  WantedSpawn facts;
  facts.caller = caller.actor;
  facts.parent.wanted = options.parent;
  const std::uint32_t own_uid = ::geteuid();
  if (const Member* const member = parts_.family.find(*parent); member != nullptr) {
    const Role parent_role = role_from(member->role).value_or(Role::kTask);
    const Child* const record = parts_.roster.find_pid(*parent);
    facts.parent.is_found = true;
    facts.parent.actor = {*parent, parent_role, *parent == 1 ? own_uid : member->uid};
    facts.parent.state = *parent == 1 ? "running" : to_string(member->state);
    facts.parent.tier = default_tier(parent_role);
    facts.parent.max_children = default_limits(parent_role).max_children;
    if (record != nullptr) {
      facts.parent.tier = tier_from(record->spec.tier).value_or(facts.parent.tier);
      facts.parent.max_children = record->spec.limits.max_children;
    }
    facts.parent.children = count_children(*parent);
  }
  facts.child.name = options.name;
  facts.child.role = role;
  facts.child.tier = tier_from(options.tier).value_or(default_tier(role, facts.parent.tier));
  facts.child.uid = options.uid;
  if (auto checked = check_spawn(facts); !checked) return tl::unexpected(checked.error());
  if (is_ending(*parent)) {
    return fail(ErrorCode::kPeerDead,
                fmt::format("{}parent {} is being ended and cannot spawn children", kSpawnInvalid,
                            *parent));
  }
  if (auto checked = parts_.launcher.check_limits(options.limits); !checked) {
    return tl::unexpected(checked.error());
  }
  Child child;
  child.parent = *parent;
  options.role = to_string(role);
  options.tier = to_string(facts.child.tier);
  if (options.model.empty()) options.model = model_of(facts.child.tier);
  if (options.restart.empty()) options.restart = to_string(default_restart(role));
  if (!options.uid) options.uid = facts.parent.actor.uid;
  child.spec = std::move(options);
  return child;
}

void Spawns::answer_all(Child& child, const std::string& text) {
  for (auto& question : waits_.take_all(child.id)) {
    parts_.letters.answer(std::move(question.message), text);
  }
}

void Spawns::hear_ready(Child& child) {
  if (child.restarts != 0 || child.request.word.empty()) return parts_.roster.save(child);
  const std::string answer = answer_of(child);
  if (auto saved = parts_.store.save_answered(&child, child.request, answer); !saved) {
    service::log_warn("not_saved", saved.error().text);
  }
  answer_all(child, answer);
}

void Spawns::hear_failed(Child& child, const Error& error) {
  if (child.request.word.empty()) return service::log_warn("not_started", error.text);
  // The steward before this one may have ended between its answer and the end of its record.
  if (auto known = parts_.store.answer(child.request)) return answer_all(child, *known);
  const std::string answer = error_text(error);
  if (auto saved = parts_.store.save_answered(nullptr, child.request, answer); !saved) {
    service::log_warn("not_saved", saved.error().text);
  }
  answer_all(child, answer);
}

}  // namespace beeline::steward
