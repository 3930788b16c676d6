# cmake -DPROGRAM=FILE -P blas_order.cmake: the program names LibTorch before the system's BLAS, which FAISS and Open3D bring.
# Both have functions of the same names; with the other order LibTorch's own products are computed by the slow one.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND readelf --dynamic --wide "${PROGRAM}" OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
string(FIND "${text}" "[libtorch_cpu.so" torch)
string(FIND "${text}" "[libblas.so" blas)
if(torch EQUAL -1)
  message(FATAL_ERROR "${PROGRAM}: expected libtorch_cpu.so among the needed libraries, got none")
endif()
if(NOT blas EQUAL -1 AND blas LESS torch)
  message(FATAL_ERROR "${PROGRAM}: expected libtorch_cpu.so before libblas.so, got it behind (cmake/LibTorch.cmake)")
endif()
