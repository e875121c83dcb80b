#include "src/spool/retention.h"

#include <chrono>
#include <cstdint>
#include <optional>

#include "src/os/clock.h"

namespace beeline::spool {
namespace {

Outcome<std::size_t> remove_older(FolderFiles& files, Place place, std::chrono::seconds age) {
  const auto names = files.names(place);
  if (!names) return tl::unexpected(names.error());
  const std::int64_t oldest = os::realtime_ns() - std::chrono::nanoseconds(age).count();
  std::size_t removed = 0;
  for (const std::string& name : *names) {
    // Files of strangers stay, but for .tmp/, which is nobody's.
    if (place != Place::kTemp && !name.ends_with(".json")) continue;
    const auto facts = files.facts({place, name});
    if (!facts || !facts->is_regular || facts->modified_ns >= oldest) continue;
    const auto gone = files.remove({place, name});
    if (!gone) return tl::unexpected(gone.error());
    removed += *gone ? 1 : 0;
  }
  return removed;
}

}  // namespace

Outcome<void> remove_old(FolderFiles& files, const Options& options, Swept& swept) {
  const auto results = remove_older(files, Place::kOutbox, *options.outbox_retention);
  if (!results) return tl::unexpected(results.error());
  const auto errors = remove_older(files, Place::kFailed, *options.failed_retention);
  if (!errors) return tl::unexpected(errors.error());
  const auto temps = remove_older(files, Place::kTemp, options.temp_retention);
  if (!temps) return tl::unexpected(temps.error());
  swept.results = *results;
  swept.errors = *errors;
  swept.temps = *temps;
  return {};
}

}  // namespace beeline::spool
