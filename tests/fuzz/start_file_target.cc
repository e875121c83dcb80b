// The bytes of a start file. A file that is read has each parent before its children, and asks for
// nothing when all of it runs; a refusal names at most 20 places.

#include <algorithm>
#include <string>
#include <vector>

#include "src/steward/plan.h"
#include "src/steward/start_file.h"
#include "tests/fuzz/target.h"

namespace beeline::fuzz {

BEELINE_FUZZ_TARGET(start_file) {
  const std::string own(input.begin(), input.end());
  const auto lookup = [](const std::string& name) { return std::optional(name + "${A}"); };
  const auto file = steward::read_start_file({own, "f", "/d", lookup});
  if (!file) {
    FUZZ_DEMAND(file.error().code == ErrorCode::kInvalid);
    FUZZ_DEMAND(file.error().text.starts_with("f:"));
    return;
  }
  std::vector<steward::PresentChild> present;
  for (const auto& [options, line] : file->agents) {
    FUZZ_DEMAND(!options.name.empty() && !options.command.empty() && line > 0);
    FUZZ_DEMAND(steward::tier_from(options.tier) && !options.restart.empty());
    const auto has_name = [&](const auto& child) { return child.name == options.parent; };
    FUZZ_DEMAND(options.parent.empty() || std::ranges::any_of(present, has_name));
    present.push_back({options.name, options.parent, steward::spec_of(options), {}});
  }
  const auto plan = steward::plan_start(*file, present);
  FUZZ_DEMAND(plan && plan->is_empty() && plan->same == present.size());
}

}  // namespace beeline::fuzz
