#pragma once

namespace beeline::test {

// What main() asks before it runs any test: the exit status of a process that is to do something
// else, or a negative number. Null unless a test program has roles (support/roles.h).
using MainHook = int (*)(int argc, char** argv);
inline MainHook main_hook = nullptr;

}  // namespace beeline::test
