# interlacer::torch from the unpacked PyPI wheel, for targets that link it PRIVATE.
#
# The wheel's own CMake files ask for the whole CUDA toolkit, so the target is made by hand: libtorch_cpu, libc10 and
# libc10_cuda are linked; libtorch_cuda.so is opened at run time when a CUDA device is asked for. One binary serves both.

set(INTERLACER_TORCH_VERSION 2.11.0)
set(torch_root "${INTERLACER_CACHE}/torch")
set(torch_config "${torch_root}/torch/share/cmake/Torch/TorchConfig.cmake")
set(torch_header "${torch_root}/torch/include/torch/headeronly/version.h")
if(NOT EXISTS "${torch_config}" OR NOT EXISTS "${torch_header}")
  message(FATAL_ERROR "LibTorch: expected the wheel unpacked in ${torch_root}; run scripts/setup or set INTERLACER_CACHE")
endif()

file(STRINGS "${torch_header}" version_lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
list(TRANSFORM version_lines REPLACE "^.* " "")
list(JOIN version_lines "." torch_version)
if(NOT torch_version VERSION_EQUAL INTERLACER_TORCH_VERSION)
  message(FATAL_ERROR "LibTorch in ${torch_root}: expected ${INTERLACER_TORCH_VERSION}, got '${torch_version}'")
endif()
file(STRINGS "${torch_config}" old_abi_lines REGEX "_GLIBCXX_USE_CXX11_ABI=0")
if(old_abi_lines)
  message(FATAL_ERROR "LibTorch in ${torch_root}: expected the C++11 ABI, got the old one")
endif()
foreach(shadowing IN ITEMS google fmt)
  if(EXISTS "${torch_root}/torch/include/${shadowing}")
    message(FATAL_ERROR "LibTorch: ${torch_root}/torch/include/${shadowing} shadows the system's headers; run scripts/setup")
  endif()
endforeach()

set(torch_library_dir "${torch_root}/torch/lib")
set(cudart_root "${torch_root}/nvidia/cu13")
add_library(interlacer::cudart SHARED IMPORTED GLOBAL)
set_target_properties(interlacer::cudart PROPERTIES
  IMPORTED_LOCATION "${cudart_root}/lib/libcudart.so.13"
  IMPORTED_SONAME libcudart.so.13)
add_library(interlacer::gomp SHARED IMPORTED GLOBAL)
set_target_properties(interlacer::gomp PROPERTIES
  IMPORTED_LOCATION "${torch_library_dir}/libgomp.so.1"
  IMPORTED_SONAME libgomp.so.1)

add_library(interlacer::torch INTERFACE IMPORTED GLOBAL)
foreach(name IN ITEMS torch_cpu c10 c10_cuda)
  add_library(interlacer::${name} SHARED IMPORTED GLOBAL)
  set_target_properties(interlacer::${name} PROPERTIES
    IMPORTED_LOCATION "${torch_library_dir}/lib${name}.so"
    IMPORTED_SONAME lib${name}.so)
  target_link_libraries(interlacer::torch INTERFACE interlacer::${name})
endforeach()
target_link_libraries(interlacer::torch INTERFACE interlacer::cudart)
target_include_directories(interlacer::torch SYSTEM INTERFACE
  "${torch_root}/torch/include"
  "${torch_root}/torch/include/torch/csrc/api/include")
# The wheel's libraries name each other and the CUDA runtime through their own run path.
target_link_options(interlacer::torch INTERFACE
  "LINKER:-rpath-link,${torch_library_dir}:${cudart_root}/lib")
# FAISS and Open3D bring the system's BLAS, whose functions have the names of those that LibTorch exports and computes with:
# a program must name LibTorch before it (tests/build/blas_order.cmake), and CMake's order of libraries promises nothing.
target_link_options(interlacer::torch INTERFACE
  "LINKER:--push-state,--no-as-needed,${torch_library_dir}/libtorch_cpu.so,--pop-state")
