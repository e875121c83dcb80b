// The bytes of a task or a result from a stranger: the reader ends and stays inside. A value that
// it takes has these bytes.

#include "src/agent/task_codec.h"
#include "tests/fuzz/target.h"

namespace beeline::fuzz {
namespace {

// A form has one encoding.
template <typename Value>
void demand_same(const Value& found, std::span<const std::byte> bytes) {
  const FormBytes form = encode(found);
  const auto again = form.text();
  FUZZ_DEMAND(again.size() == bytes.size());
  FUZZ_DEMAND(bytes.empty() || std::memcmp(again.data(), bytes.data(), bytes.size()) == 0);
}

BEELINE_FUZZ_TARGET(task) {
  // A copy of its own size: a step beyond the end is seen.
  const Input own(input.begin(), input.end());
  const auto bytes = std::as_bytes(std::span(own));
  Task task;
  const bool is_task = decode_task(bytes, task).has_value();
  if (is_task) demand_same(task, bytes);
  const auto result = decode_result(bytes);
  if (result) demand_same(*result, bytes);
  FUZZ_DEMAND(!is_task || !result);
  if (!result) FUZZ_DEMAND(!result.error().text.empty());
}

}  // namespace
}  // namespace beeline::fuzz
