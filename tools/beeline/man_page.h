#pragma once

#include <string>

#include "tools/beeline/options.h"

namespace beeline::cli {

// The manual page of all verbs in the language of man(7), made from the texts of `beeline help`.
[[nodiscard]] std::string man_page(CLI::App& app);

}  // namespace beeline::cli
