#include "tests/fuzz/target.h"

#include <algorithm>
#include <vector>

namespace beeline::fuzz {

namespace {

struct Named {
  std::string_view name;
  TargetFunction function;
};

std::vector<Named>& targets() {
  static std::vector<Named> all;
  return all;
}

}  // namespace

TargetRegistration::TargetRegistration(const char* name, TargetFunction function) {
  targets().push_back({name, function});
}

TargetFunction find_target(std::string_view name) {
  const auto found = std::find_if(targets().begin(), targets().end(),
                                  [&](const Named& each) { return each.name == name; });
  return found == targets().end() ? nullptr : found->function;
}

void list_targets() {
  for (const Named& each : targets()) std::puts(each.name.data());
}

void scribble(Feed& feed, std::span<std::byte> bytes, std::size_t most) {
  for (std::size_t i = 0; i < most && !feed.empty(); ++i) {
    const std::size_t offset = feed.below(static_cast<std::uint32_t>(bytes.size()));
    const auto width =
        std::min<std::size_t>(1U << feed.take<std::uint8_t>() % 4, bytes.size() - offset);
    const auto value = feed.take<std::uint64_t>();
    std::memcpy(bytes.data() + offset, &value, width);
  }
}

}  // namespace beeline::fuzz
