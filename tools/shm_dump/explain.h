#pragma once

#include <string>

namespace beeline::dump {

/// Every column and every word that shm-dump prints, with what it means.
[[nodiscard]] std::string legend_text();

}  // namespace beeline::dump
