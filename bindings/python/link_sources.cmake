# Links each file of the folder SOURCE at the same place below TARGET, and removes links to files
# that are gone. PROGRAMS, the folder of the programs, is there as beeline/bin, as in a wheel.
cmake_minimum_required(VERSION 3.25)

file(GLOB_RECURSE files RELATIVE ${SOURCE}
  ${SOURCE}/*.py ${SOURCE}/*.pyi ${SOURCE}/py.typed)
file(GLOB_RECURSE there RELATIVE ${TARGET} ${TARGET}/*)
foreach(file IN LISTS there)
  if(IS_SYMLINK ${TARGET}/${file} AND NOT file IN_LIST files)
    file(REMOVE ${TARGET}/${file})
  endif()
endforeach()
foreach(file IN LISTS files)
  if(NOT IS_SYMLINK ${TARGET}/${file})
    get_filename_component(folder ${TARGET}/${file} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    file(CREATE_LINK ${SOURCE}/${file} ${TARGET}/${file} SYMBOLIC)
  endif()
endforeach()
if(NOT EXISTS ${TARGET}/beeline/bin)
  file(CREATE_LINK ${PROGRAMS} ${TARGET}/beeline/bin SYMBOLIC)
endif()
