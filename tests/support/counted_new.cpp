#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "tests/support/counted_memory.h"

namespace interlacer::testing {

constinit Tally of_tensors, of_all;

}  // namespace interlacer::testing

// The library's own arrays are standard vectors, which these count.

void* operator new(std::size_t size) {
  void* const block = std::malloc(std::max<std::size_t>(size, 1));
  if (block == nullptr) throw std::bad_alloc();
  interlacer::testing::of_all.Add(static_cast<std::int64_t>(malloc_usable_size(block)));
  return block;
}

void operator delete(void* block) noexcept {
  if (block == nullptr) return;
  interlacer::testing::of_all.Remove(static_cast<std::int64_t>(malloc_usable_size(block)));
  std::free(block);
}

void operator delete(void* block, std::size_t) noexcept { operator delete(block); }
