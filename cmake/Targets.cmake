# Helpers that give every folder the same shape: one static library, kernels apart, tests discovered at test time.

# Where INTERLACER_UNITY is on, so many files of a library or a test are compiled at once: their headers cost more than
# they do. A target may say another number with UNITY; 1 keeps every file alone.
set(interlacer_unity_files 8)

# interlacer_add_library(<folder> SOURCES a.cpp ... [PUBLIC lib ...] [PRIVATE lib ...] [UNITY files])
# Static library interlacer_<folder>, alias interlacer::<folder>.
function(interlacer_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "UNITY" "SOURCES;PUBLIC;PRIVATE")
  interlacer_refuse_unparsed(${name} "${arg_UNPARSED_ARGUMENTS}")
  add_library(interlacer_${name} STATIC ${arg_SOURCES})
  add_library(interlacer::${name} ALIAS interlacer_${name})
  set_target_properties(interlacer_${name} PROPERTIES EXPORT_NAME ${name})
  interlacer_unite(interlacer_${name} "${arg_UNITY}")
  target_link_libraries(interlacer_${name}
    PUBLIC interlacer::options ${arg_PUBLIC}
    PRIVATE $<BUILD_INTERFACE:interlacer_private_options> ${arg_PRIVATE})
endfunction()

# interlacer_add_kernels(<name> [BODIES a ...] [CPU b.cpp ...] [AVX512 c_avx512.cpp ...] [CUDA d_cuda.cu ...]
#                        [FUSED a ...])
# Kernel library interlacer::<name>. Kernels know only the C++ and CUDA runtimes. A body a_body.h is compiled once for
# each instruction set, in its namespace, `a` being <name> or <name>:<sets> such as walk:cpu,avx2 where the others are
# written by hand; the products and sums of FUSED bodies may fuse where the set can. Files for an instruction set get its
# flags and nobody else does. CUDA files are a library of their own, interlacer::<name>_cuda, where
# CUDA is on; the global property INTERLACER_CUDA_SOURCES has all, also where it is off.
function(interlacer_add_kernels name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "BODIES;CPU;AVX512;AVX512BF16;AMX;CUDA;FUSED")
  interlacer_refuse_unparsed(${name} "${arg_UNPARSED_ARGUMENTS}")
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  foreach(body IN LISTS arg_BODIES)
    string(REPLACE ":" ";" parts "${body}:cpu,avx2,avx512")
    list(GET parts 0 body)
    list(GET parts 1 sets)
    string(REPLACE "," ";" sets "${sets}")
    foreach(set IN LISTS sets)
      set(unit "${CMAKE_CURRENT_BINARY_DIR}/${body}_${set}.cpp")
      file(CONFIGURE OUTPUT "${unit}" CONTENT
        "#define INTERLACER_KERNEL_NAMESPACE ${set}\n#include \"${folder}/${body}_body.h\"\n")
      string(TOUPPER ${set} upper)
      list(APPEND arg_${upper} "${unit}")
      if(body IN_LIST arg_FUSED AND NOT set STREQUAL cpu)
        set_property(SOURCE "${unit}" APPEND PROPERTY COMPILE_OPTIONS -ffp-contract=fast)
      endif()
    endforeach()
  endforeach()
  set(sources ${arg_CPU} ${arg_AVX2} ${arg_AVX512} ${arg_AVX512BF16} ${arg_AMX})
  set_property(SOURCE ${arg_AVX2} APPEND PROPERTY COMPILE_OPTIONS -mavx2 -mfma -mf16c)
  set_property(SOURCE ${arg_AVX512} APPEND PROPERTY COMPILE_OPTIONS
    -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mf16c)
  set_property(SOURCE ${arg_AVX512BF16} APPEND PROPERTY COMPILE_OPTIONS
    -mavx512bf16 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mf16c)
  set_property(SOURCE ${arg_AMX} APPEND PROPERTY COMPILE_OPTIONS -mamx-tile -mamx-bf16)
  if(sources)
    interlacer_add_kernel_library(${name} ${sources})
  endif()
  list(TRANSFORM arg_CUDA PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/" OUTPUT_VARIABLE cuda_sources)
  set_property(GLOBAL APPEND PROPERTY INTERLACER_CUDA_SOURCES ${cuda_sources})
  if(INTERLACER_CUDA_ENABLED AND arg_CUDA)
    interlacer_add_kernel_library(${name}_cuda ${arg_CUDA})
    interlacer_use_cuda(interlacer_${name}_cuda)
  endif()
endfunction()

function(interlacer_add_kernel_library name)
  add_library(interlacer_${name} STATIC ${ARGN})
  add_library(interlacer::${name} ALIAS interlacer_${name})
  target_link_libraries(interlacer_${name}
    PUBLIC interlacer::options
    PRIVATE $<BUILD_INTERFACE:interlacer_private_options>)
endfunction()

# interlacer_bring_cuda(<target>): a program, or a library of one, that hands the CUDA backend to models.
function(interlacer_bring_cuda target)
  if(INTERLACER_CUDA_ENABLED)
    target_link_libraries(${target} PRIVATE interlacer::cuda_backend)
  endif()
endfunction()

# CUDA architectures of a target, and the CUDA runtime: the one LibTorch carries, or a static one without LibTorch.
function(interlacer_use_cuda target)
  set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES "${INTERLACER_CUDA_ARCHITECTURES}")
  if(TARGET interlacer::cudart)
    set_target_properties(${target} PROPERTIES CUDA_RUNTIME_LIBRARY None)
    target_include_directories(${target} SYSTEM PUBLIC $<BUILD_INTERFACE:${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES}>)
    target_link_libraries(${target} PUBLIC interlacer::cudart)
  else()
    set_target_properties(${target} PROPERTIES CUDA_RUNTIME_LIBRARY Static)
    target_link_libraries(${target} PUBLIC Threads::Threads ${CMAKE_DL_LIBS} rt)
  endif()
endfunction()

# interlacer_add_test(<name> SOURCES a_test.cpp ... [LIBS lib ...] [LABELS label ...] [TIMEOUT_S seconds] [UNITY files]
#                     [PREFIX text])
# GoogleTest program; its cases are listed when ctest runs, never at build time. PREFIX comes before their names.
function(interlacer_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT_S;UNITY;PREFIX" "SOURCES;LIBS;LABELS")
  interlacer_refuse_unparsed(${name} "${arg_UNPARSED_ARGUMENTS}")
  if(NOT arg_TIMEOUT_S)
    set(arg_TIMEOUT_S 120)
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS cpu)
  endif()
  add_executable(${name} ${arg_SOURCES})
  # What a test itself computes is little; what it tests is optimised in its own library.
  target_compile_options(${name} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
  interlacer_unite(${name} "${arg_UNITY}")
  target_link_libraries(${name} PRIVATE interlacer_private_options interlacer::options ${arg_LIBS}
    GTest::gmock GTest::gtest GTest::gtest_main)
  # Without values: of a parameter without a printer they would be its bytes, other ones in every run.
  # OpenMP waits as in the programs (model/runtime/passive_waiting.cpp): tests run side by side and share the cores.
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES
    TEST_PREFIX "${arg_PREFIX}" PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT_S}
    ENVIRONMENT OMP_WAIT_POLICY=passive)
  interlacer_label_failure_modes(${name} "${arg_SOURCES}")
endfunction()

# A comment `// fm-16` above a test makes that a label of it: ctest -L fm-16. docs/failure-modes.md has the list.
function(interlacer_label_failure_modes name sources)
  list(FILTER sources INCLUDE REGEX "_test\\.cpp$")
  list(TRANSFORM sources PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  set(script "${CMAKE_CURRENT_BINARY_DIR}/${name}_failure_modes.cmake")
  file(CONFIGURE OUTPUT "${script}" @ONLY CONTENT [[
set(failure_mode_sources "@sources@")
set(failure_mode_tests "${@name@_TESTS}")
include("@PROJECT_SOURCE_DIR@/cmake/FailureModeLabels.cmake")
]])
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${script}")
endfunction()

# interlacer_make_portable(<target>): a program that scripts/gpu_check --pack carries to another machine. It needs only the
# libraries that it uses and finds what is carried in lib beside it. Old tags: they hold for libraries of libraries too.
# Without Open3D's outlier filter, which would bring a hundred libraries along.
function(interlacer_make_portable target)
  target_link_options(${target} PRIVATE LINKER:--as-needed LINKER:--disable-new-dtags)
  set_target_properties(${target} PROPERTIES BUILD_RPATH "$ORIGIN/lib" INTERLACER_IS_PORTABLE ON)
endfunction()

function(interlacer_unite target files)
  if(files STREQUAL "")
    set(files ${interlacer_unity_files})
  endif()
  if(INTERLACER_UNITY AND files GREATER 1)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${files})
  endif()
endfunction()

function(interlacer_refuse_unparsed name unparsed)
  if(unparsed)
    message(FATAL_ERROR "${name}: arguments not understood: ${unparsed}")
  endif()
endfunction()
