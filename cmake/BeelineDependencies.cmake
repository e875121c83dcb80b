# The dependencies of the library; tools, bench and tests find their own. All from Debian 12.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(tl-expected CONFIG REQUIRED)
find_package(fmt 9 CONFIG REQUIRED)
find_package(nlohmann_json 3.11 CONFIG REQUIRED)
find_package(Boost 1.74 REQUIRED)

# Debian ships moodycamel's header without a CMake package.
find_path(CONCURRENTQUEUE_INCLUDE_DIR concurrentqueue/concurrentqueue.h REQUIRED)
mark_as_advanced(CONCURRENTQUEUE_INCLUDE_DIR)
add_library(concurrentqueue::concurrentqueue INTERFACE IMPORTED)
target_include_directories(concurrentqueue::concurrentqueue
  INTERFACE ${CONCURRENTQUEUE_INCLUDE_DIR})
