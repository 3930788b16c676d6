#include "model/runtime/tensor_memory.h"

#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace interlacer {
namespace {

/// A cache line, and the width of an AVX-512 register.
constexpr std::size_t kAlignmentBytes = 64;
/// More than a process can address: a negative size, or a mistake.
constexpr std::size_t kMaxBytes = std::size_t{1} << 47;
constexpr std::size_t kSizesPerPowerOfTwo = 8;
/// Above torch's own allocator, which has 0.
constexpr std::uint8_t kAllocatorPriority = 1;

#if defined(__SANITIZE_ADDRESS__)
/// Blocks without slack, so that the sanitizer sees every overrun.
void FreeBlock(void* tensor) { std::free(tensor); }

void* ObtainBlock(std::size_t size_bytes) {
  void* block = nullptr;
  return posix_memalign(&block, kAlignmentBytes, size_bytes) == 0 ? block : nullptr;
}
#else
/// The word before the tensor points to the C library's block. malloc aligns to 16 bytes, so there
/// is always room for it.
void FreeBlock(void* tensor) {
  if (tensor == nullptr) return;
  void* block;
  std::memcpy(&block, static_cast<char*>(tensor) - sizeof(block), sizeof(block));
  std::free(block);
}

void* ObtainBlock(std::size_t size_bytes) {
  void* const block = std::malloc(TensorBlockBytes(size_bytes) + kAlignmentBytes);
  if (block == nullptr) return nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  char* const tensor = static_cast<char*>(block) + (kAlignmentBytes - address % kAlignmentBytes);
  std::memcpy(tensor - sizeof(block), &block, sizeof(block));
  return tensor;
}
#endif

void* AllocateBlock(std::size_t size_bytes) {
  if (size_bytes == 0) return nullptr;
  void* const tensor = size_bytes > kMaxBytes ? nullptr : ObtainBlock(size_bytes);
  if (tensor == nullptr) throw std::bad_alloc();
  return tensor;
}

class Blocks final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t size_bytes) override {
    void* const tensor = AllocateBlock(size_bytes);
    return {tensor, tensor, &FreeBlock, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &FreeBlock; }
  void copy_data(void* to, const void* from, std::size_t size_bytes) const override {
    default_copy_data(to, from, size_bytes);
  }
};

}  // namespace

std::size_t TensorBlockBytes(std::size_t size_bytes) {
  if (size_bytes <= kAlignmentBytes) return kAlignmentBytes;
  const std::size_t quantum =
      std::max(kAlignmentBytes, std::bit_floor(size_bytes - 1) / kSizesPerPowerOfTwo);
  return (size_bytes + quantum - 1) / quantum * quantum;
}

c10::Allocator* TensorMemory() {
  // Never destroyed: tensors of static objects may be freed later.
  static auto* const memory = new Blocks;
  return memory;
}

void UseTensorMemory() { c10::SetCPUAllocator(TensorMemory(), kAllocatorPriority); }

}  // namespace interlacer
