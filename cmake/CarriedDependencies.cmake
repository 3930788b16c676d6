# What the kernels-only build needs beside CUDA: from the machine where it has it, else from the folder that
# "scripts/gpu_check --pack" made in the tree.
set(carried "${PROJECT_SOURCE_DIR}/.gpu_check")

if(BUILD_TESTING)
  include(GoogleTest)
  find_package(GTest CONFIG QUIET)
  if(NOT GTest_FOUND)
    find_path(INTERLACER_GTEST_SOURCE googletest/CMakeLists.txt PATHS "${carried}/googletest" /usr/src/googletest
      NO_DEFAULT_PATH)
    if(NOT INTERLACER_GTEST_SOURCE)
      message(FATAL_ERROR "GoogleTest: expected it installed or in ${carried}; run scripts/gpu_check --pack where it is")
    endif()
    set(INSTALL_GTEST OFF)
    add_subdirectory("${INTERLACER_GTEST_SOURCE}" googletest EXCLUDE_FROM_ALL)
  endif()
endif()

# interlacer_find_headers(<package> <target> <header>): header libraries that only the benchmark needs.
function(interlacer_find_headers package target header)
  find_package(${package} CONFIG QUIET)
  if(TARGET ${target})
    return()
  endif()
  find_path(INTERLACER_${package}_INCLUDE ${header} PATHS "${carried}/include" NO_DEFAULT_PATH)
  if(INTERLACER_${package}_INCLUDE)
    add_library(${target} INTERFACE IMPORTED GLOBAL)
    target_include_directories(${target} SYSTEM INTERFACE "${INTERLACER_${package}_INCLUDE}")
  else()
    message(STATUS "${package}: neither installed nor in ${carried}; the benchmark is not built")
  endif()
endfunction()
interlacer_find_headers(nlohmann_json nlohmann_json::nlohmann_json nlohmann/json.hpp)
interlacer_find_headers(CLI11 CLI11::CLI11 CLI/CLI.hpp)
