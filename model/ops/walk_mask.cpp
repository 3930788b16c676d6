#include "model/ops/walk_mask.h"

#include <ATen/Functions.h>

#include <utility>

#include "knn/walk_lists.h"

namespace interlacer {
namespace {

template <typename T>
torch::Tensor IntsBeside(const std::vector<T>& values, const torch::Tensor& like) {
  static_assert(sizeof(T) == sizeof(std::int32_t));
  const auto count = static_cast<std::int64_t>(values.size());
  return at::from_blob(const_cast<T*>(values.data()), {count}, at::kInt)
      .to(like.device(), at::kInt, /*non_blocking=*/false, /*copy=*/true);
}

template <typename T>
const T* PointerOrNull(const torch::Tensor& ints) {
  static_assert(sizeof(T) == sizeof(std::int32_t));
  return ints.defined() ? reinterpret_cast<const T*>(ints.const_data_ptr<std::int32_t>()) : nullptr;
}

}  // namespace

WalkMask::WalkMask(WalkLists lists, int out_degree, bool with_transpose)
    : packed_(true), lists_(std::move(lists)) {
  if (with_transpose) transposed_ = Transpose(lists_);
  loads_ = at::tensor(WalkCodeLoads(out_degree), at::kDouble).reshape({-1, kMaxHops + 1});
}

WalkMask::WalkMask(WeightedWalkLists lists, bool with_transpose)
    : packed_(false), weighted_(std::move(lists)) {
  if (with_transpose) transposed_ = Transpose(weighted_);
  loads_ = at::tensor(weighted_.loads, at::kFloat).reshape({-1, kMaxHops + 1}).to(at::kDouble);
}

WalkMask::WalkMask(DeviceWalks walks, bool packed, torch::Tensor loads)
    : packed_(packed), on_device_(true), device_(std::move(walks)), loads_(std::move(loads)) {}

WalkMask WalkMask::CopyTo(const torch::Tensor& like) const {
  DeviceWalks walks;
  walks.offsets = IntsBeside(packed_ ? lists_.offsets : weighted_.offsets, like);
  walks.entries = packed_ ? IntsBeside(lists_.entries, like) : IntsBeside(weighted_.nodes, like);
  if (!transposed_.offsets.empty()) {
    walks.transposed_offsets = IntsBeside(transposed_.offsets, like);
    walks.transposed_roots = IntsBeside(transposed_.roots, like);
    walks.transposed_entry_index = IntsBeside(transposed_.entry_index, like);
  }
  return {std::move(walks), packed_, loads_.to(like.device(), at::kFloat)};
}

std::int64_t WalkMask::token_count() const {
  if (on_device_) return device_.offsets.size(0) - 1;
  return packed_ ? lists_.n : weighted_.n;
}

std::int64_t WalkMask::pair_count() const {
  if (on_device_) return device_.entries.size(0);
  return static_cast<std::int64_t>(packed_ ? lists_.entries.size() : weighted_.nodes.size());
}

const std::int32_t* WalkMask::offsets() const {
  if (on_device_) return PointerOrNull<std::int32_t>(device_.offsets);
  return packed_ ? lists_.offsets.data() : weighted_.offsets.data();
}

const std::uint32_t* WalkMask::entries() const {
  return on_device_ ? PointerOrNull<std::uint32_t>(device_.entries) : lists_.entries.data();
}

const std::int32_t* WalkMask::nodes() const {
  return on_device_ ? PointerOrNull<std::int32_t>(device_.entries) : weighted_.nodes.data();
}

GrfTransposedPairs WalkMask::transposed() const {
  if (on_device_) {
    return {PointerOrNull<std::int32_t>(device_.transposed_offsets),
            PointerOrNull<std::int32_t>(device_.transposed_roots),
            PointerOrNull<std::int32_t>(device_.transposed_entry_index)};
  }
  return {transposed_.offsets.data(), transposed_.roots.data(), transposed_.entry_index.data()};
}

}  // namespace interlacer
