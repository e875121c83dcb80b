// The bytes of a koshi.yaml, up to a zero, and of a secrets.yaml after it. A configuration that is
// read has values within their limits and fills the tasks of its routes; a refusal names its
// places in the file.

#include <algorithm>
#include <charconv>
#include <string>

#include "src/buffer/config.h"
#include "tests/fuzz/target.h"

namespace beeline::fuzz {
namespace {

// Each line of a refusal is FILE:LINE:COLUMN: TEXT, or the number of the mistakes that are left
// out.
void check_places(const std::string& mistakes, std::string_view file) {
  const auto lines = static_cast<std::size_t>(std::ranges::count(file, '\n')) + 1;
  FUZZ_DEMAND(mistakes.starts_with("k:") || mistakes.starts_with("s:"));
  if (!mistakes.starts_with("k:")) return;
  std::size_t line = 0;
  const char* const end = mistakes.data() + mistakes.size();
  FUZZ_DEMAND(std::from_chars(mistakes.data() + 2, end, line).ec == std::errc{});
  FUZZ_DEMAND(line >= 1 && line <= lines);
}

}  // namespace

BEELINE_FUZZ_TARGET(koshi) {
  const std::string bytes(input.begin(), input.end());
  const std::size_t zero = std::min(bytes.find('\0'), bytes.size());
  buffer::ConfigSource source{.text = std::string_view(bytes).substr(0, zero), .name = "k"};
  if (zero != bytes.size()) source.secrets_text = std::string_view(bytes).substr(zero + 1);
  source.secrets_name = "s";
  source.lookup = [](const std::string& name) { return std::optional("a\n" + name); };
  const auto config = buffer::read_config(source);
  if (!config) {
    FUZZ_DEMAND(config.error().code == ErrorCode::kInvalid);
    return check_places(config.error().text, source.text);
  }
  FUZZ_DEMAND(config->batch_window.count() >= 1 && config->warn_threshold >= 1);
  FUZZ_DEMAND(config->batch_limits.messages >= 1 && config->batch_limits.bytes >= 1);
  const buffer::Message message{.id = 1, .channel = "c", .payload = R"({"a":{"b":"{a.b}"}})"};
  const buffer::Group group{"c", "", {message}};
  const auto decision = buffer::decide(config->rules, group);
  FUZZ_DEMAND(decision.route <= config->rules.routes.size());
  for (const auto& route : config->rules.routes) {
    const std::string text = buffer::task_text(route.action.task, message);
    FUZZ_DEMAND(text.find('{') != text.npos || route.action.task.find("{nope}") == text.npos);
  }
}

}  // namespace beeline::fuzz
