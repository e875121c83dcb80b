#include <charconv>
#include <cstdint>
#include <string_view>

#include <beeline/spool.h>

#include "src/os/process.h"

namespace beeline::spool {
namespace {

// A number of days; the default if there is no number at the start of the text.
std::chrono::days days(const char* name, std::chrono::days otherwise) {
  constexpr std::int64_t kMostDays = 365 * 1000;
  const std::string_view text = os::variable(name);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end == text.data() || number < 0 || number > kMostDays) {
    return otherwise;
  }
  return std::chrono::days(number);
}

}  // namespace

Environment Environment::read() {
  Environment found;
  if (const auto dir = os::variable("DROVER_MAILBOX_DIR"); !dir.empty()) found.dir = dir;
  const std::string_view enabled = os::variable("DROVER_MAILBOX_ENABLED");
  found.enabled = enabled == "true" || enabled == "1";
  found.outbox_retention = days("DROVER_MAILBOX_OUTBOX_RETENTION", found.outbox_retention);
  found.failed_retention = days("DROVER_MAILBOX_FAILED_RETENTION", found.failed_retention);
  return found;
}

}  // namespace beeline::spool
