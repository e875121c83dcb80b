#include "src/steward/plan.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <beeline/result.h>

namespace beeline::steward {
namespace {

using Json = nlohmann::json;
using Life = PresentChild::Life;

// An agent keeps these for its life.
Json identity_of(const SpawnOptions& options) {
  return {options.parent, options.role, options.uid ? Json(*options.uid) : Json(nullptr)};
}

bool has_same_identity(const std::string& spec, const SpawnOptions& options) {
  const Json before = Json::parse(spec, nullptr, false);
  return before.is_object() && before.value("identity", Json()) == identity_of(options);
}

class Planner {
 public:
  Planner(const StartFile& file, std::span<const PresentChild> present)
      : file_(file), present_(present) {
    for (const StartAgent& agent : file.agents) wanted_.emplace(agent.options.name, &agent.options);
    for (const PresentChild& child : present) {
      PresentChild const*& known = known_[child.name];
      if (known == nullptr || child.life == Life::kAlive) known = &child;
    }
  }

  Result<StartPlan> make() {
    if (const std::string taken = taken_names(); !taken.empty()) {
      return fail(ErrorCode::kAlreadyRunning, taken);
    }
    for (std::size_t i = 0; i < file_.agents.size(); ++i) place(i);
    for (const PresentChild& child : present_) {
      if (must_end(child)) plan_.end.push_back(child.name);
    }
    std::ranges::stable_sort(plan_.end, std::greater<>(),
                             [this](const std::string& name) { return depth(name); });
    return std::move(plan_);
  }

 private:
  [[nodiscard]] const PresentChild* find(const std::string& name) const {
    const auto found = known_.find(name);
    return found == known_.end() ? nullptr : found->second;
  }

  [[nodiscard]] std::string taken_names() const {
    std::string text;
    for (const StartAgent& agent : file_.agents) {
      const PresentChild* child = find(agent.options.name);
      if (child == nullptr || child->life != Life::kAlive || !child->spec.empty()) continue;
      text += fmt::format(
          "{}line {}: the name \"{}\" belongs to an agent that no start file "
          "started; end it with `beeline kill {}`, or take another name",
          text.empty() ? "" : "\n", agent.line, child->name, child->name);
    }
    return text;
  }

  // Whether a living agent of a start file ends for good, by itself or with an ancestor.
  [[nodiscard]] bool must_end(const PresentChild& child) const {
    if (child.life != Life::kAlive || child.spec.empty()) return false;
    const PresentChild* at = &child;
    for (std::size_t steps = 0; at != nullptr && steps <= present_.size(); ++steps) {
      if (ends_itself(*at)) return true;
      at = at->parent.empty() ? nullptr : find(at->parent);
    }
    return false;
  }

  [[nodiscard]] bool ends_itself(const PresentChild& child) const {
    if (child.life != Life::kAlive || child.spec.empty()) return false;
    const auto found = wanted_.find(child.name);
    return found == wanted_.end() || !has_same_identity(child.spec, *found->second);
  }

  void place(std::size_t index) {
    const SpawnOptions& options = file_.agents[index].options;
    const PresentChild* child = find(options.name);
    const bool is_same = child != nullptr && child->spec == spec_of(options);
    if (child == nullptr || child->life == Life::kFailed || must_end(*child)) {
      plan_.start.push_back(index);
    } else if (is_same) {
      ++plan_.same;
    } else {
      (child->life == Life::kAlive ? plan_.restart : plan_.start).push_back(index);
    }
  }

  [[nodiscard]] std::size_t depth(const std::string& name) const {
    std::size_t steps = 0;
    const PresentChild* at = find(name);
    while (at != nullptr && !at->parent.empty() && steps <= present_.size()) {
      ++steps;
      at = find(at->parent);
    }
    return steps;
  }

  const StartFile& file_;
  std::span<const PresentChild> present_;
  std::unordered_map<std::string, const SpawnOptions*> wanted_;
  std::unordered_map<std::string, const PresentChild*> known_;
  StartPlan plan_;
};

}  // namespace

std::string spec_of(const SpawnOptions& options) {
  const ChildLimits& limits = options.limits;
  return Json{{"identity", identity_of(options)},
              {"command", options.command},
              {"tier", options.tier},
              {"model", options.model},
              {"directory", options.directory},
              {"environment", options.environment},
              {"restart", options.restart},
              {"limits",
               {limits.memory_bytes, limits.cpu_seconds, limits.open_files, limits.processes,
                limits.max_children, limits.output_bytes}},
              {"ready_within_ms", options.ready_within.count()},
              {"grace_ms", options.grace.count()}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<StartPlan> plan_start(const StartFile& file, std::span<const PresentChild> present) {
  return Planner(file, present).make();
}

}  // namespace beeline::steward
