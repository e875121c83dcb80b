# The preset `quick`: options that shorten the time between an edit and its result, and that no
# other build needs. A tool that is not installed is left out.
option(BEELINE_QUICK "Use ccache, a fast linker and precompiled headers for the library" OFF)
if(NOT BEELINE_QUICK)
  return()
endif()

find_program(BEELINE_CCACHE ccache)
if(BEELINE_CCACHE)
  # ccache asks for both before it takes a source with a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${BEELINE_CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)
  endif()
endif()

foreach(linker mold lld)
  find_program(BEELINE_LD_${linker} ld.${linker})
  if(BEELINE_LD_${linker})
    add_link_options(-fuse-ld=${linker})
    break()
  endif()
endforeach()

# An edit of the library links the library, and no program anew.
set(CMAKE_LINK_DEPENDS_NO_SHARED ON)

# The headers of others that most sources of the library include. Only here: with a precompiled
# header a source that lacks an include builds.
function(beeline_precompile_library)
  target_precompile_headers(beeline PRIVATE
    <algorithm> <array> <chrono> <cstdint> <cstring> <deque> <filesystem> <functional> <map>
    <memory> <mutex> <optional> <span> <string> <string_view> <unordered_map> <utility> <variant>
    <vector> <fmt/format.h> <tl/expected.hpp>)
endfunction()
