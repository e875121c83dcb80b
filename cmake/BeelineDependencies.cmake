# The dependencies of the library; tools, bench and tests find their own. All from Debian 12.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(tl-expected CONFIG REQUIRED)
# For packages that leave this machine, such as a Python wheel. Debian has no archive of fmt, so it
# is compiled into each source. The archives of SQLite and yaml-cpp go into the programs.
option(BEELINE_SELF_CONTAINED "Programs need no shared library but those of the GNU C library" OFF)
if(BEELINE_SELF_CONTAINED)
  find_path(FMT_INCLUDE_DIR fmt/format.h REQUIRED)
  mark_as_advanced(FMT_INCLUDE_DIR)
  add_library(fmt::fmt INTERFACE IMPORTED)
  target_include_directories(fmt::fmt INTERFACE ${FMT_INCLUDE_DIR})
  target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY=1)
  add_link_options(-static-libstdc++ -static-libgcc)
  if(BEELINE_STEWARD OR BEELINE_BUFFER)
    find_library(SQLite3_LIBRARY libsqlite3.a REQUIRED)
    find_library(YAML_CPP_ARCHIVE libyaml-cpp.a REQUIRED)
    mark_as_advanced(YAML_CPP_ARCHIVE)
    add_library(yaml-cpp STATIC IMPORTED)
    set_target_properties(yaml-cpp PROPERTIES IMPORTED_LOCATION ${YAML_CPP_ARCHIVE})
  endif()
else()
  find_package(fmt 9 CONFIG REQUIRED)
endif()
find_package(nlohmann_json 3.11 CONFIG REQUIRED)
find_package(Boost 1.74 REQUIRED)

# Debian ships moodycamel's header without a CMake package.
find_path(CONCURRENTQUEUE_INCLUDE_DIR concurrentqueue/concurrentqueue.h REQUIRED)
mark_as_advanced(CONCURRENTQUEUE_INCLUDE_DIR)
add_library(concurrentqueue::concurrentqueue INTERFACE IMPORTED)
target_include_directories(concurrentqueue::concurrentqueue
  INTERFACE ${CONCURRENTQUEUE_INCLUDE_DIR})
