#pragma once

#include <string>

#include "tools/shm_dump/dump.h"

namespace beeline::dump {

/// A dumped segment for people: single values as wrapped `key value` pairs, lists of objects as
/// tables without the columns that are empty in every row, lists of texts as lines.
[[nodiscard]] std::string text_of(const Json& segment);

}  // namespace beeline::dump
