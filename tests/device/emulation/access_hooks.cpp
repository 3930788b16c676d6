/// Functions called by code compiled with -fsanitize=thread,alignment,bounds,shift; they replace
/// the sanitizers' libraries.

#include <cstddef>

#include "memory_check.h"

using interlacer::emulation::Access;
using interlacer::emulation::OnAccess;

#define INTERLACER_ON_ACCESS(size)                                                \
  void __tsan_read##size(void* address) {                                         \
    OnAccess(address, size, Access::kRead, __builtin_return_address(0));          \
  }                                                                               \
  void __tsan_write##size(void* address) {                                        \
    OnAccess(address, size, Access::kWrite, __builtin_return_address(0));         \
  }                                                                               \
  void __tsan_volatile_write##size(void* address) {                               \
    OnAccess(address, size, Access::kVolatileWrite, __builtin_return_address(0)); \
  }

extern "C" {
void __tsan_init() { interlacer::emulation::BeginChecking(); }
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
INTERLACER_ON_ACCESS(1)
INTERLACER_ON_ACCESS(2)
INTERLACER_ON_ACCESS(4)
INTERLACER_ON_ACCESS(8)
INTERLACER_ON_ACCESS(16)
void __tsan_read_range(void* address, std::size_t size) {
  OnAccess(address, size, Access::kRead, __builtin_return_address(0));
}
void __tsan_write_range(void* address, std::size_t size) {
  OnAccess(address, size, Access::kWrite, __builtin_return_address(0));
}
void __ubsan_handle_type_mismatch_v1(void*, void*) {
  interlacer::emulation::OnMisaligned(__builtin_return_address(0));
}
void __ubsan_handle_out_of_bounds(void*, void*) {
  interlacer::emulation::OnOutOfRange(__builtin_return_address(0));
}
void __ubsan_handle_shift_out_of_bounds(void*, void*, void*) {
  interlacer::emulation::OnOutOfRange(__builtin_return_address(0));
}
}
