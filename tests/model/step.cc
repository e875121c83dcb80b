#include "tests/model/step.h"

#include <array>
#include <numeric>

namespace beeline::test {

namespace {

struct Kind {
  const char* name;
  std::uint32_t weight;
};

constexpr std::array<Kind, static_cast<std::size_t>(StepKind::kCount)> kKinds{{
    {"send", 300},     {"fire and forget", 50}, {"broadcast", 20},
    {"control", 30},   {"cancel", 30},          {"reply", 60},
    {"look", 30},      {"receive", 280},        {"done", 120},
    {"requeue", 50},   {"put back", 20},        {"reject", 20},
    {"defer", 15},     {"escalate", 15},        {"drain results", 15},
    {"await ack", 25}, {"revive", 8},           {"purge", 3},
    {"kill", 6},       {"kill inside", 6},      {"leave", 3},
    {"restart", 25},   {"newcomer", 6},
}};

constexpr std::uint32_t total() {
  std::uint32_t sum = 0;
  for (const Kind& kind : kKinds) sum += kind.weight;
  return sum;
}

}  // namespace

std::string to_string(StepKind kind) { return kKinds[static_cast<std::size_t>(kind)].name; }

Step next_step(std::mt19937_64& random) {
  const auto number = [&] { return static_cast<std::uint32_t>(random()); };
  std::uint32_t left = number() % total();
  std::size_t kind = 0;
  while (left >= kKinds[kind].weight) left -= kKinds[kind++].weight;
  Step step{};
  step.kind = static_cast<StepKind>(kind);
  step.who = number();
  step.whom = number();
  step.what = number();
  step.how = number();
  return step;
}

}  // namespace beeline::test
