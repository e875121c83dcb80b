#pragma once

// Verbs that look once, or repeatedly.

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include <beeline/result.h>

#include "src/control/client.h"
#include "tools/beeline/options.h"

namespace beeline::cli {

// How often a verb looks: once unless `every` is set.
struct Watch {
  std::optional<std::chrono::nanoseconds> every;
};

inline constexpr std::chrono::nanoseconds kDefaultWatch = std::chrono::seconds(2);

// Adds --watch [DURATION]. The option takes the next word, which may be the argument of the verb:
// `is_other(text)` may claim a text that is no duration.
void add_watch_option(CLI::App& verb, Watch& watch, std::function<bool(std::string)> is_other = {});

// Returns the text that a verb prints, including its last line end.
using Look = std::function<Result<std::string>(control::Client&)>;

// Connects, looks and prints the text that `look` returns. With --watch it repeats this until a
// signal (success) or a failure. On a terminal a new text replaces the last one; otherwise it
// follows. The pause is at least three times as long as a look takes. A coordinator that was
// restarted is asked again.
[[nodiscard]] ExitCode look_on(const Context& context, const Watch& watch, const Look& look);

}  // namespace beeline::cli
