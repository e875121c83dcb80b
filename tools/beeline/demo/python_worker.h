#pragma once

// The one worker of the demo that is a Python program, where there is a Python that can load the
// package: bindings/python/src/beeline/_demo_worker.py.

#include <string>

#include <beeline/processes.h>

#include "tools/beeline/demo/role.h"

namespace beeline::cli::demo {

inline constexpr std::size_t kPythonWorker = 3;

// The folder that holds the package, beside this program or where it was installed. Empty: there is
// none that python3 can load.
[[nodiscard]] std::string find_python_package();

// As child_of_role(), for the worker in Python. REQUIRES: worker.python is such a folder.
[[nodiscard]] SpawnOptions child_in_python(const RoleArguments& worker);

}  // namespace beeline::cli::demo
