#pragma once

#include <beeline/spool.h>

#include "src/spool/folder_files.h"

namespace beeline::spool {

// Removes results, errors and temporary files that are older than Options says, by the time of
// their last change, and counts them in `swept`.
[[nodiscard]] Outcome<void> remove_old(FolderFiles& files, const Options& options, Swept& swept);

}  // namespace beeline::spool
