#pragma once

/// Arrays of any trivial type on a device, as bytes of a tensor. Throws torch's exceptions.
/// Threads: pure functions.

#include <ATen/Functions.h>

#include <cstdint>
#include <span>
#include <type_traits>

namespace interlacer {

/// A copy of its own, also where the device is the host.
template <typename T>
torch::Tensor Upload(std::span<const T> values, torch::Device device) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto bytes = static_cast<std::int64_t>(values.size_bytes());
  return at::from_blob(const_cast<T*>(values.data()), {bytes}, at::kByte)
      .to(device, at::kByte, /*non_blocking=*/false, /*copy=*/true);
}

template <typename T>
const T* PointerTo(const torch::Tensor& bytes) {
  return reinterpret_cast<const T*>(bytes.const_data_ptr<std::uint8_t>());
}

}  // namespace interlacer
