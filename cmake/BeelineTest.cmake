# beeline_add_test(<name> SOURCES <file>... [LABELS <label>...] [TIMEOUT <seconds>]
#                  [COST <seconds>] [LIBRARIES <target>...] [PROGRAMS <target>...]
#                  [PARTS <part>=<filter>...])
#
# Builds one GoogleTest program and registers it as one ctest test of the same name. A run in which
# a test was skipped and none failed exits with 77 (tests/test_main.cc) and shows as Skipped.
#
# LABELS    unit: also built and run by `make quick`; tsan: also built and run under the thread
#           sanitizer; threads: that in `make soak` only; noasan: not run under the address
#           sanitizer; asan-all: that in `make soak` only; soak: has a longer form when
#           BEELINE_SOAK=1 is in the environment.
# TIMEOUT   the watchdog, 120 by default; the slow presets scale it.
# COST      of the longest tests, with their parts: ctest starts those first also in a new tree.
# PROGRAMS  targets that the test starts; it finds them in the directory $BEELINE_BIN.
# PARTS     for the longest tests: those that match <filter> become a ctest test of their own,
#           <part>_test, which runs beside the rest of the program.

set(BEELINE_TEST_TIMEOUT_SCALE 1 CACHE STRING "Factor on the timeout of every test")

# beeline_set_timeout(<seconds> <test>...): the same for tests that are no GoogleTest programs.
function(beeline_set_timeout seconds)
  math(EXPR timeout "${seconds} * ${BEELINE_TEST_TIMEOUT_SCALE}")
  set_tests_properties(${ARGN} PROPERTIES TIMEOUT ${timeout})
endfunction()

# Everything the preset quick and the tsan presets build.
add_custom_target(unit-tests)
add_custom_target(tsan-tests)
add_custom_target(threads-tests)

function(beeline_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg
    "" "TIMEOUT;COST" "SOURCES;LABELS;LIBRARIES;PROGRAMS;PARTS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
    message(FATAL_ERROR "beeline_add_test(${name}): needs SOURCES, and does not know: "
      "${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  math(EXPR timeout "${arg_TIMEOUT} * ${BEELINE_TEST_TIMEOUT_SCALE}")

  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE
    beeline_internal beeline_test_main GTest::gtest ${arg_LIBRARIES})
  if("beeline_test_support" IN_LIST arg_LIBRARIES)
    target_precompile_headers(${name} REUSE_FROM beeline_test_support)
  else()
    target_precompile_headers(${name} REUSE_FROM beeline_test_main)
  endif()
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/tests)
  if(BEELINE_SANITIZE AND "noasan" IN_LIST arg_LABELS)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  if(arg_PROGRAMS)
    add_dependencies(${name} ${arg_PROGRAMS})
  endif()
  foreach(label IN ITEMS unit tsan threads)
    if(label IN_LIST arg_LABELS)
      add_dependencies(${label}-tests ${name})
    endif()
  endforeach()

  set(parts "")
  set(rest "")
  foreach(part IN LISTS arg_PARTS)
    string(REPLACE "=" ";" part "${part}")
    list(GET part 0 part_name)
    list(GET part 1 filter)
    add_test(NAME ${part_name}_test COMMAND ${name} --gtest_filter=${filter})
    list(APPEND parts ${part_name}_test)
    list(APPEND rest ${filter})
  endforeach()
  if(rest)
    list(JOIN rest ":" rest)
    set(rest --gtest_filter=-${rest})
  endif()
  add_test(NAME ${name} COMMAND ${name} ${rest})
  # A label of its own names the program with its parts.
  set_tests_properties(${name} ${parts} PROPERTIES
    LABELS "${arg_LABELS};${name}"
    TIMEOUT ${timeout}
    SKIP_RETURN_CODE 77
    ENVIRONMENT "BEELINE_BIN=${PROJECT_BINARY_DIR}/bin;BEELINE_SOURCE=${PROJECT_SOURCE_DIR}")
  if(arg_COST)
    set_tests_properties(${name} ${parts} PROPERTIES COST ${arg_COST})
  endif()
endfunction()
