#include "model/attention/files/random_inputs.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <utility>

#include "model/attention/core/random_features.h"

namespace interlacer::attention {
namespace {

torch::Tensor Numbers(at::IntArrayRef shape, std::uint64_t seed, std::uint32_t part) {
  std::int64_t count = 1;
  for (const std::int64_t side : shape) count *= side;
  return NormalMatrix(seed, RandomStream::kDataGeneration, 1, part, count, 1).reshape(shape);
}

std::vector<std::int64_t> RandomGrid(const std::string& mechanism, RandomSequence& random) {
  const auto below = [&random](std::uint32_t n) {
    return static_cast<std::int64_t>(random.Below(n));
  };
  if (mechanism == "gdk_hypercube") return std::vector<std::int64_t>(1 + random.Below(5), 2);
  if (mechanism == "toeplitz_1d") return {1 + below(40)};
  std::vector<std::int64_t> grid;
  for (std::uint32_t axis = 0; axis < 1 + random.Below(3); ++axis) grid.push_back(1 + below(5));
  return grid;
}

GraphInput RandomGraph(std::int64_t n, RandomSequence& random) {
  std::vector<std::vector<std::int64_t>> rows(static_cast<std::size_t>(n));
  const double share = random.Uniform(0.05, 0.4);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < i; ++j) {
      if (random.Uniform() >= share) continue;
      rows[i].push_back(j);
      rows[j].push_back(i);
    }
  }
  std::vector<std::int64_t> offsets{0}, neighbors;
  for (const auto& row : rows) {
    neighbors.insert(neighbors.end(), row.begin(), row.end());
    offsets.push_back(static_cast<std::int64_t>(neighbors.size()));
  }
  return {at::tensor(offsets, at::kLong), at::tensor(neighbors, at::kLong), {}};
}

TreeInput RandomTree(std::int64_t n, std::uint64_t seed, RandomSequence& random) {
  std::vector<std::int64_t> parents;
  // From stars to paths.
  const std::uint32_t reach = 1 + random.Below(8);
  for (std::int64_t i = 0; i < n; ++i) {
    const bool is_root = i == 0 || random.Below(10) == 0;
    const auto back =
        1 + random.Below(std::min(reach, static_cast<std::uint32_t>(std::max<std::int64_t>(i, 1))));
    parents.push_back(is_root ? -1 : i - static_cast<std::int64_t>(back));
  }
  return {at::tensor(parents, at::kLong), 0.1 + Numbers({n}, seed, 9).abs()};
}

}  // namespace

AttentionInputs RandomInputs(const MechanismInfo& mechanism, std::uint64_t seed) {
  RandomSequence random(seed, RandomStream::kDataGeneration);
  AttentionInputs inputs;
  inputs.grid = RandomGrid(mechanism.name, random);
  std::int64_t n = 1;
  for (const std::int64_t side : inputs.grid) n *= side;
  const std::int64_t batch = 1 + random.Below(2), heads = 1 + random.Below(3);
  const std::int64_t width = 1 + random.Below(6), value_width = 1 + random.Below(5);
  inputs.q = Numbers({batch, heads, n, width}, seed, 1);
  inputs.k = Numbers({batch, heads, n, width}, seed, 2);
  inputs.v = Numbers({batch, heads, n, value_width}, seed, 3);
  const std::int64_t dimensions = mechanism.name == "flt_local"     ? 1
                                  : mechanism.name == "flt_gauss3d" ? 3
                                                                    : 1 + random.Below(3);
  inputs.positions = Numbers({n, dimensions}, seed, 4);
  inputs.segments = Numbers({n}, seed, 5).mul(2).abs().to(at::kLong);
  inputs.mask = Numbers({heads, n, n}, seed, 6).clamp_min(0);
  inputs.gates = at::sigmoid(Numbers({batch, heads, n}, seed, 7));
  inputs.graph = RandomGraph(n, random);
  inputs.tree = RandomTree(n, seed, random);
  if (random.Below(2) == 0) {
    inputs.key_mask = (Numbers({batch, n}, seed, 8) > -1).to(at::kDouble);
  }
  return inputs;
}

AttentionInputs LongInputs(const MechanismInfo& mechanism, const InputSizes& sizes,
                           std::uint64_t seed) {
  const std::int64_t length = sizes.length;
  RandomSequence random(seed, RandomStream::kDataGeneration, 2);
  AttentionInputs inputs;
  const auto floats = [&](at::IntArrayRef shape, std::uint32_t part) {
    return Numbers(shape, seed, part).to(at::kFloat);
  };
  const std::int64_t shape[] = {sizes.batch, sizes.heads, length, sizes.width};
  inputs.q = floats(shape, 1);
  inputs.k = floats(shape, 2);
  inputs.v = floats(shape, 3);
  std::int64_t side = 1;
  while (side * side * 2 < length && length % (side * 2) == 0) side *= 2;
  if (mechanism.name == "gdk_hypercube") {
    for (std::int64_t corners = 1; corners < length; corners *= 2) inputs.grid.push_back(2);
  } else if (mechanism.name == "toeplitz_1d") {
    inputs.grid = {length};
  } else {
    inputs.grid = {side, length / side};
  }
  inputs.positions = floats({length, mechanism.name == "flt_local" ? 1 : 3}, 4);
  inputs.segments = at::arange(length, at::kLong).div(64, "floor");
  inputs.gates = at::sigmoid(floats({sizes.batch, sizes.heads, length}, 7));
  const auto& read = mechanism.inputs;
  if (std::find(read.begin(), read.end(), "mask") != read.end()) {
    const torch::Tensor places = floats({length, 1}, 6).abs();
    inputs.mask = at::matmul(places, places.t()).unsqueeze(0);
  }
  std::vector<std::vector<std::int64_t>> rows(static_cast<std::size_t>(length));
  const auto join = [&rows](std::int64_t a, std::int64_t b) {
    if (a == b) return;
    rows[a].push_back(b);
    rows[b].push_back(a);
  };
  std::vector<std::int64_t> parents{-1};
  for (std::int64_t i = 1; i < length; ++i) {
    join(i, i - 1);
    if (i % 3 == 0) join(i, random.Below(static_cast<std::uint32_t>(i)));
    parents.push_back(random.Below(static_cast<std::uint32_t>(i)));
  }
  std::vector<std::int64_t> offsets{0}, neighbors;
  for (const auto& row : rows) {
    neighbors.insert(neighbors.end(), row.begin(), row.end());
    offsets.push_back(static_cast<std::int64_t>(neighbors.size()));
  }
  inputs.graph = {at::tensor(offsets, at::kLong), at::tensor(neighbors, at::kLong), {}};
  inputs.tree.parents = at::tensor(parents, at::kLong);
  return inputs;
}

}  // namespace interlacer::attention
