# Sets `top_folders`: the folders of the tree at ROOT, without what builds and runs leave there. Makes ROOT absolute, as globbing
# relative to it needs.
get_filename_component(ROOT "${ROOT}" ABSOLUTE)
file(GLOB tops RELATIVE "${ROOT}" LIST_DIRECTORIES true "${ROOT}/*")
list(FILTER tops EXCLUDE REGEX "^(build.*|out|runs|\\..*)$")
set(top_folders "")
foreach(top IN LISTS tops)
  if(IS_DIRECTORY "${ROOT}/${top}")
    list(APPEND top_folders "${top}")
  endif()
endforeach()

# Ends a lint that has no files to read, and so would be content with everything.
function(refuse_no_files)
  if("${ARGN}" STREQUAL "")
    message(FATAL_ERROR "nothing to check in ${ROOT}")
  endif()
endfunction()
