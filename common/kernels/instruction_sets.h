#pragma once

/// Declares the functions of a kernel body that is compiled once for each instruction set
/// (interlacer_add_kernels, BODIES) in the namespaces of all sets. FormOfHost of cpu_features.h
/// chooses among them.

#define INTERLACER_FOR_INSTRUCTION_SETS(...) \
  namespace cpu {                            \
  __VA_ARGS__                                \
  }                                          \
  namespace avx2 {                           \
  __VA_ARGS__                                \
  }                                          \
  namespace avx512 {                         \
  __VA_ARGS__                                \
  }
