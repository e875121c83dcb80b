# The interpreter and the headers of the Python package, and whether it is built
# (BEELINE_HAS_PYTHON). The extension stands on the limited API, so the headers of one Python of at
# least 3.11 make an extension for all of them.
set(BEELINE_BUILD_PYTHON AUTO CACHE STRING
  "Build the Python package: ON, OFF, or AUTO (at the top level, where Python has its headers)")
set_property(CACHE BEELINE_BUILD_PYTHON PROPERTY STRINGS AUTO ON OFF)
set(BEELINE_PYTHON "" CACHE FILEPATH "The interpreter whose headers it takes; empty: look for one")

set(BEELINE_HAS_PYTHON OFF)
set(python_wanted ${BEELINE_BUILD_PYTHON})
if(python_wanted STREQUAL "AUTO")
  set(python_wanted ${PROJECT_IS_TOP_LEVEL})
endif()
if(NOT python_wanted)
  return()
endif()

set(python_candidates ${BEELINE_PYTHON})
if(NOT python_candidates)
  # The distribution's own comes first, because its packages bring headers and modules. Another one
  # may come first in the PATH.
  find_program(BEELINE_PYTHON_IN_PATH NAMES python3)
  mark_as_advanced(BEELINE_PYTHON_IN_PATH)
  set(python_candidates /usr/bin/python3)
  if(BEELINE_PYTHON_IN_PATH)
    list(APPEND python_candidates ${BEELINE_PYTHON_IN_PATH})
  endif()
endif()
foreach(python IN LISTS python_candidates)
  execute_process(
    COMMAND ${python} -I -c "import sys, sysconfig; assert sys.version_info >= (3, 11)
print('.'.join(map(str, sys.version_info[:2])), sysconfig.get_path('include'), sep=';', end='')"
    OUTPUT_VARIABLE python_facts ERROR_QUIET RESULT_VARIABLE python_failed)
  if(python_failed)
    continue()
  endif()
  list(GET python_facts 0 BEELINE_PYTHON_VERSION)
  list(GET python_facts 1 python_include_dir)
  if(EXISTS ${python_include_dir}/Python.h)
    set(BEELINE_HAS_PYTHON ON)
    set(BEELINE_PYTHON_EXECUTABLE ${python})
    break()
  endif()
endforeach()

if(BEELINE_HAS_PYTHON)
  message(STATUS
    "Python package: built for ${BEELINE_PYTHON_EXECUTABLE} (${BEELINE_PYTHON_VERSION}) and later")
  add_library(beeline::python_headers INTERFACE IMPORTED)
  target_include_directories(beeline::python_headers INTERFACE ${python_include_dir})
  target_compile_definitions(beeline::python_headers INTERFACE Py_LIMITED_API=0x030b0000)
elseif(BEELINE_BUILD_PYTHON STREQUAL "AUTO")
  message(STATUS "Python package: left out, because no Python of at least 3.11 has its headers "
    "here (Debian: python3-dev)")
else()
  message(FATAL_ERROR "BEELINE_BUILD_PYTHON is ON, but no Python of at least 3.11 has its headers "
    "here (Debian: python3-dev)")
endif()
