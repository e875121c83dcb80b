# Compiler options for our own code: the warnings, and the sanitizers of the asan and tsan presets.

# The bytes of a segment are read as words and as structs.
add_compile_options(-fno-strict-aliasing)

add_library(beeline_warnings INTERFACE)
# Sign conversions stay allowed: lengths meet ssize_t and ptrdiff_t at every system call.
target_compile_options(beeline_warnings INTERFACE
  -Werror -Wall -Wextra -Wpedantic
  -Wcast-qual -Wconversion -Wno-sign-conversion -Wextra-semi -Wformat=2 -Wnon-virtual-dtor
  -Wold-style-cast -Woverloaded-virtual -Wshadow -Wundef)

set(BEELINE_SANITIZE "" CACHE STRING "Sanitizers for everything, e.g. address,undefined")
if(BEELINE_SANITIZE)
  add_compile_options(-fsanitize=${BEELINE_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${BEELINE_SANITIZE})
  # These checks add code to every access to a member, and take twice the time of a build. Their
  # faults also show as address errors, or in the Clang builds that `make soak` fuzzes, which have
  # all checks.
  if(BEELINE_SANITIZE MATCHES "undefined" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fno-sanitize=null,alignment,object-size,pointer-overflow,vptr)
  endif()
  # GCC documents that instrumentation causes false reports of the first. The second hits fences:
  # ours avoid them under the thread sanitizer (shm/atomic.h), those of other libraries cannot.
  target_compile_options(beeline_warnings INTERFACE
    "$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-tsan;-Wno-error>")
  # Clang sees shadows between the sources that a unity build joins; the preset `clang` does not.
  target_compile_options(beeline_warnings INTERFACE "$<$<CXX_COMPILER_ID:Clang>:-Wno-shadow>")
endif()

# For folders with many templates of other libraries: GCC takes three times as long for them with
# the checks for undefined behaviour. The library and its unit tests have the checks.
macro(beeline_skip_undefined)
  if(BEELINE_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize=undefined)
  endif()
endmacro()
