#include "tests/support/counted_memory.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <malloc.h>

namespace interlacer::testing {
namespace {

/// LibTorch's own blocks, with a count of the bytes that are out.
class CountingAllocator : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t size) override {
    void* const block = c10::alloc_cpu(size);
    Count(block, &Tally::Add);
    return {block, block, &Free, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &Free; }
  void copy_data(void* to, const void* from, std::size_t count) const override {
    default_copy_data(to, from, count);
  }

 private:
  static void Count(void* block, void (Tally::*count)(std::int64_t)) {
    if (block == nullptr) return;
    const auto bytes = static_cast<std::int64_t>(malloc_usable_size(block));
    (of_tensors.*count)(bytes);
    (of_all.*count)(bytes);
  }
  static void Free(void* block) {
    Count(block, &Tally::Remove);
    c10::free_cpu(block);
  }
};

}  // namespace

void CountAllocations() {
  static CountingAllocator* const counting = [] {
    auto* made = new CountingAllocator;
    c10::SetCPUAllocator(made, 0xFF);
    return made;
  }();
  static_cast<void>(counting);
}

}  // namespace interlacer::testing
