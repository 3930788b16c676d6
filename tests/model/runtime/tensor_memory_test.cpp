#include "model/runtime/tensor_memory.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <vector>

#include "model/runtime/torch_errors.h"

namespace interlacer::testing {
namespace {

constexpr std::size_t kAlignmentBytes = 64;

TEST(TensorMemory, HoldsTheTensorsOfAProgramThatUsesIt) {
  UseTensorMemory();
  const at::Tensor tensor = at::empty({3, 5}, at::kFloat);
  EXPECT_EQ(tensor.storage().allocator(), TensorMemory());
  EXPECT_TRUE(TensorMemory()->is_simple_data_ptr(tensor.storage().data_ptr()));
}

TEST(TensorMemory, BlocksAreAlignedAndApart) {
  std::vector<c10::DataPtr> blocks;
  std::vector<std::size_t> sizes_bytes;
  for (std::size_t size = 1; size < 20000; size = size * 5 / 4 + 1) sizes_bytes.push_back(size);
  for (std::size_t i = 0; i < sizes_bytes.size(); ++i) {
    blocks.push_back(TensorMemory()->allocate(sizes_bytes[i]));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks[i].get()) % kAlignmentBytes, 0u);
    std::memset(blocks[i].get(), static_cast<int>(i), sizes_bytes[i]);
  }
  for (std::size_t i = 0; i < sizes_bytes.size(); ++i) {
    const auto* bytes = static_cast<const std::uint8_t*>(blocks[i].get());
    for (std::size_t b = 0; b < sizes_bytes[i]; ++b) ASSERT_EQ(bytes[b], i) << "block " << i;
  }
}

TEST(TensorMemory, NothingIsAllocatedForNothing) {
  EXPECT_EQ(TensorMemory()->allocate(0).get(), nullptr);
  EXPECT_EQ(at::empty({0, 4}).numel(), 0);
}

TEST(TensorMemory, BlockSizesAreAtMostAnEighthOrALineLargerAndFew) {
  std::size_t previous = 0;
  int size_count = 0;
  for (std::size_t size = kAlignmentBytes; size <= 1 << 16; ++size) {
    const std::size_t block = TensorBlockBytes(size);
    ASSERT_GE(block, size);
    ASSERT_GE(block, previous);
    ASSERT_LE(block - size, std::max(size / 8, kAlignmentBytes)) << size;
    if (block != previous) ++size_count;
    previous = block;
  }
  // 1 KiB in steps of 64 bytes, then eight sizes for each of the six doublings to 64 KiB.
  EXPECT_LE(size_count, 16 + 6 * 8);
  EXPECT_EQ(TensorBlockBytes(1 << 20), std::size_t{1 << 20});
}

TEST(TensorMemory, WhatCannotBeHeldIsAStatus) {
  UseTensorMemory();
  EXPECT_THROW(TensorMemory()->allocate(std::numeric_limits<std::size_t>::max()), std::bad_alloc);
  EXPECT_EQ(CatchTorchErrors([] {
              at::empty({std::int64_t{1} << 60}, at::kByte);
              return Status();
            }).reason(),
            reason::HOST_MEMORY);
}

}  // namespace
}  // namespace interlacer::testing
