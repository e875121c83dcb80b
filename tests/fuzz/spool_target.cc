// The bytes of a file that a stranger put into a task folder. A record that is read is the same
// after it was written and read again, and another parser finds the same in the file.

#include <nlohmann/json.hpp>

#include <beeline/spool.h>

#include "src/spool/half_claim.h"
#include "src/spool/id.h"
#include "tests/fuzz/target.h"

namespace beeline::fuzz {
namespace {

using Json = nlohmann::json;

// An object with the defaults of keys that the file does not have or has as null.
Json with_defaults(Json defaults, const Json& file) {
  for (const auto& [key, value] : file.items()) {
    const bool is_known = defaults.contains(key);
    if (is_known && value.is_null()) continue;
    // Metadata.
    const bool has_defaults = is_known && value.is_object();
    defaults[key] = has_defaults ? with_defaults(defaults[key], value) : value;
  }
  return defaults;
}

template <typename Record>
void check_record(const std::string& own, const Json& file,
                  spool::Outcome<Record> (*read)(std::string_view)) {
  const auto found = read(own);
  if (!found) {
    FUZZ_DEMAND(found.error().code == spool::Code::kInvalidTask);
    // The other parser takes a zero byte for the end.
    const bool is_no_json = found.error().text.find("no valid JSON") != std::string::npos;
    FUZZ_DEMAND(!is_no_json || file.is_discarded() || own.find('\0') != std::string::npos);
    return;
  }
  const std::string written = to_json(*found);
  const auto again = read(written);
  FUZZ_DEMAND(again && *again == *found);
  if (file.is_discarded()) {
    // It refuses numbers beyond those of a double; they are kept as they are.
    FUZZ_DEMAND(own.find_first_of("0123456789") != std::string::npos);
    return;
  }
  FUZZ_DEMAND(Json::parse(written) == with_defaults(Json::parse(to_json(Record{})), file));
}

BEELINE_FUZZ_TARGET(spool) {
  // A copy of its own size: a step beyond the end is seen.
  const std::string own(input.begin(), input.end());
  const Json file = Json::parse(own, nullptr, false);
  check_record(own, file, spool::read_task);
  check_record(own, file, spool::read_completion);
  check_record(own, file, spool::read_error);
  if (const auto id = spool::id_in(spool::Folder::kInbox, own)) {
    FUZZ_DEMAND(spool::task_file(*id) == own);
  }
  if (const auto half = spool::HalfClaim::parse(own)) FUZZ_DEMAND(!half->name().empty());
}

}  // namespace
}  // namespace beeline::fuzz
