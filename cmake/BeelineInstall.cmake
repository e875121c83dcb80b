# The installed package: headers, library, licence, and the files for find_package and pkg-config.
# The folders of programs install these, with their completions and manual pages.

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/beeline)

install(TARGETS beeline EXPORT beelineTargets)
install(TARGETS beeline-c EXPORT beelineCTargets)
set(left_out "")
if(NOT BEELINE_SPOOL)
  set(left_out PATTERN "spool.h" EXCLUDE)
endif()
install(DIRECTORY include/beeline DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" ${left_out})
install(EXPORT beelineTargets NAMESPACE beeline:: DESTINATION ${package_dir})
install(EXPORT beelineCTargets NAMESPACE beeline:: DESTINATION ${package_dir})

configure_package_config_file(cmake/beelineConfig.cmake.in beelineConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(beelineConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/beelineConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/beelineConfigVersion.cmake
  DESTINATION ${package_dir})

install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} USE_SOURCE_PERMISSIONS)

# The programs come with manual pages and units of systemd. The programs are stripped; `cmake
# --install build --component debug` installs the files that a debugger needs.
if(TARGET beeline-cli)
  install(FILES man/shm-dump.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES man/beelined.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)
  configure_file(cmake/BeelineUnits.cmake.in units.cmake @ONLY)
  install(SCRIPT ${CMAKE_CURRENT_BINARY_DIR}/units.cmake COMPONENT units)
  set(debug_programs "")
  set(programs beeline beelined shm-dump beeline-bench)
  if(TARGET beeline-steward)
    list(APPEND programs beeline-steward)
  endif()
  foreach(program IN LISTS programs)
    string(APPEND debug_programs " \"${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${program}\"")
  endforeach()
  configure_file(cmake/BeelineDebug.cmake.in debug.cmake @ONLY)
  install(SCRIPT ${CMAKE_CURRENT_BINARY_DIR}/debug.cmake COMPONENT debug EXCLUDE_FROM_ALL)
endif()

# A static library leaves its own dependencies to the program that links it.
if(BUILD_SHARED_LIBS)
  set(pc_requires "")
else()
  set(pc_requires "fmt >= 9")
endif()
# The package may be moved as a whole: the place of beeline.pc tells its prefix.
file(RELATIVE_PATH pc_prefix
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
foreach(pc_file beeline.pc beeline-c.pc)
  configure_file(cmake/${pc_file}.in ${pc_file} @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${pc_file}
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
