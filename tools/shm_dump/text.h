#pragma once

#include <string>

#include "tools/shm_dump/dump.h"

namespace beeline::dump {

// The summaries of segments, a line each, and a line that sums them up.
[[nodiscard]] std::string table_of(const Json& segments);

// A dumped segment for people: single values as wrapped `key value` pairs, lists of objects as
// tables without the columns that are empty in every row, lists of texts as lines.
[[nodiscard]] std::string text_of(const Json& segment);

// The heading for a member of a document: "age" for "age_ms", because the value shows the unit.
[[nodiscard]] std::string heading_of(const std::string& key);

}  // namespace beeline::dump
