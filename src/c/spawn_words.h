#pragma once

#include <beeline/c/processes.h>
#include <beeline/processes.h>

namespace beeline::c {

// BEELINE_INVALID: the size of the struct, or a list with a null pointer in it.
beeline_code read_options(const char* function, const beeline_spawn_options* given,
                          SpawnOptions& options);

}  // namespace beeline::c
