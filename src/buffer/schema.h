#pragma once

// The tables: `buffer` with its indexes is that of the document; the buffer's own tables begin with
// `buffer_`, so that the file may be one that other programs use.

#include <beeline/result.h>

#include "src/buffer/database.h"

namespace beeline::buffer {

inline constexpr int kSchemaVersion = 1;

// Sets the journal up, makes the tables that are missing, and checks those that are there.
// Errors: kWrongVersion (a later Beeline wrote the file), kInvalid (a table `buffer` of another
// form), and as of Database::failed().
[[nodiscard]] Result<void> prepare_schema(Database& database);

// The check alone, for a connection that only reads.
[[nodiscard]] Result<void> check_schema(Database& database);

}  // namespace beeline::buffer
