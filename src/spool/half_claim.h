#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/spool/claimant.h"

namespace beeline::spool {

// A task on its way between two folders, in names that say which process moves it. No other Spool
// uses the same names, so no other process touches the file until that process has ended.
struct HalfClaim {
  std::string id;
  std::string host_tag;
  ProcessLife process;
  std::uint64_t spool = 0;  // a number of the Spool in its process

  // "ID.json.TAG.PID.START.SPOOL": no task file, because it does not end in ".json".
  [[nodiscard]] std::string name() const;
  // "ID.json.tmp.TAG.PID.START.SPOOL": a file in .tmp/ of that name says that the process is just
  // claiming the task, and becomes its claim.
  [[nodiscard]] std::string temp_name() const;
  // The two above. Nothing if the name has another form.
  [[nodiscard]] static std::optional<HalfClaim> parse(std::string_view name);
  [[nodiscard]] static std::optional<HalfClaim> parse_temp(std::string_view name);

 private:
  [[nodiscard]] static std::optional<HalfClaim> parse_as(std::string_view name,
                                                         std::string_view end);
};

}  // namespace beeline::spool
