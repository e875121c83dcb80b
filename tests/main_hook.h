#pragma once

namespace beeline::test {

// main() calls this before it runs any test. It returns the exit status of a process with another
// task, or a negative number. Null unless a test program has roles (support/roles.h).
using MainHook = int (*)(int argc, char** argv);
inline MainHook main_hook = nullptr;

}  // namespace beeline::test
