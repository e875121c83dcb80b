#pragma once

#include <string>

namespace beeline::dump {

// The meaning of every column and every word that shm-dump prints.
[[nodiscard]] std::string legend_text();

}  // namespace beeline::dump
