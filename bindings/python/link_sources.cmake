# Links each file of the folder SOURCE at the same place below TARGET, and removes links to files
# that are gone.
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
