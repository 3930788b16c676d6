# cmake -DROOT=<tree> -DCLANG_FORMAT=<program> -P format.cmake: names the C++ and CUDA files that clang-format would change.
cmake_minimum_required(VERSION 3.25)

set(files "")
foreach(folder IN ITEMS common robots knn render data model server client evaluation experiments cli bench docs tests)
  file(GLOB_RECURSE found RELATIVE "${ROOT}" "${ROOT}/${folder}/*.h" "${ROOT}/${folder}/*.cpp" "${ROOT}/${folder}/*.cu")
  list(APPEND files ${found})
endforeach()
execute_process(COMMAND "${CLANG_FORMAT}" --dry-run --Werror ${files}
  WORKING_DIRECTORY "${ROOT}" RESULT_VARIABLE status ERROR_VARIABLE messages)
if(NOT status EQUAL 0)
  string(REGEX MATCHALL "[^\n:]*:[0-9]+:[0-9]+: error" findings "${messages}")
  list(TRANSFORM findings REPLACE ":.*" "")
  list(REMOVE_DUPLICATES findings)
  list(JOIN findings " " text)
  message(FATAL_ERROR "clang-format would change:\n  ${CLANG_FORMAT} -i ${text}")
endif()
