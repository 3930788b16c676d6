# Language level, warnings, sanitizers and CUDA settings. Targets get them by linking interlacer::options.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(INTERLACER_CCACHE ccache)
mark_as_advanced(INTERLACER_CCACHE)
if(INTERLACER_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${INTERLACER_CCACHE}")
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${INTERLACER_CCACHE}")
endif()

# nvcc is looked for on the path and where the toolkit installs itself.
set(INTERLACER_CUDA_ENABLED OFF)
if(NOT INTERLACER_CUDA STREQUAL "OFF")
  if(NOT CMAKE_CUDA_COMPILER)
    find_program(INTERLACER_NVCC nvcc HINTS ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES bin)
    mark_as_advanced(INTERLACER_NVCC)
    if(INTERLACER_NVCC)
      set(CMAKE_CUDA_COMPILER "${INTERLACER_NVCC}")
    endif()
  endif()
  if(CMAKE_CUDA_COMPILER)
    # Architectures are properties of our targets; this value only serves the compiler check.
    set(CMAKE_CUDA_ARCHITECTURES 80)
    enable_language(CUDA)
    # CMake 3.25 does not know that nvcc understands C++20.
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA_STANDARD 20)
    set(INTERLACER_CUDA_ENABLED ON)
  elseif(INTERLACER_CUDA STREQUAL "ON")
    message(FATAL_ERROR "INTERLACER_CUDA=ON: expected nvcc on the path or under /usr/local/cuda, found none")
  endif()
endif()
# Of what is released: machine code for each, PTX for the last. Packages of fewer are refused (cmake/Install.cmake).
set(interlacer_released_architectures 80-real 86-real 89-real 90)
set(INTERLACER_CUDA_ARCHITECTURES ${interlacer_released_architectures}
  CACHE STRING "Architectures of our kernels; 'native' are those of this machine's GPUs")

add_library(interlacer_options INTERFACE)
add_library(interlacer::options ALIAS interlacer_options)
target_include_directories(interlacer_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include/interlacer>)
target_compile_features(interlacer_options INTERFACE cxx_std_20)
target_compile_definitions(interlacer_options INTERFACE
  INTERLACER_WITH_CUDA=$<BOOL:${INTERLACER_CUDA_ENABLED}>
  INTERLACER_WITH_TORCH=$<BOOL:${INTERLACER_WITH_TORCH}>
  INTERLACER_WITH_FAISS=$<BOOL:${INTERLACER_WITH_FAISS}>
  INTERLACER_WITH_OPEN3D=$<BOOL:${INTERLACER_WITH_OPEN3D}>
  INTERLACER_WITH_MUJOCO=$<BOOL:${INTERLACER_WITH_MUJOCO}>)

# -ffp-contract=off: the same source gives the same bits whether or not a file is compiled for AVX2.
# -Wno-restrict: GCC 12 warns about "text" + std::string (its bug 105651).
set(interlacer_warnings -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wno-restrict)
if(INTERLACER_WERROR)
  list(APPEND interlacer_warnings -Werror)
endif()
add_library(interlacer_private_options INTERFACE)
target_compile_options(interlacer_private_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:${interlacer_warnings};-ffp-contract=off;-fno-math-errno>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall>)

if(INTERLACER_SANITIZE)
  # What -fno-sanitize names takes a third of the compiler's time, and the address sanitizer finds nearly all of it.
  list(JOIN INTERLACER_SANITIZE "," sanitizers)
  target_compile_options(interlacer_private_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${sanitizers};-fno-sanitize=null,object-size,vptr,return;-fno-omit-frame-pointer>)
  add_link_options(-fsanitize=${sanitizers})
endif()
