#include "tests/model/attention/catalog/scenes.h"

#include <ATen/Functions.h>

#include <algorithm>

#include "model/attention/core/random_features.h"

namespace interlacer::testing {
namespace {

using attention::GraphInput;
using attention::TreeInput;

TreeInput TreeOf(const std::vector<std::int64_t>& parents) {
  const auto n = static_cast<std::int64_t>(parents.size());
  return {at::tensor(parents, at::kLong), 0.2 + Normals({n}, 77).abs().clamp_max(1)};
}

Scene MakeScene(std::string name, std::vector<std::int64_t> grid, std::int64_t dimensions,
                const SceneSize& size, std::uint64_t seed) {
  std::int64_t n = 1;
  for (const std::int64_t side : grid) n *= side;
  AttentionInputs inputs;
  inputs.q = Normals({size.batch, size.heads, n, size.width}, seed);
  inputs.k = Normals({size.batch, size.heads, n, size.width}, seed + 1);
  inputs.v = Normals({size.batch, size.heads, n, size.value_width}, seed + 2);
  inputs.grid = std::move(grid);
  inputs.positions = Normals({n, dimensions}, seed + 3);
  inputs.segments = Normals({n}, seed + 4).mul(2).abs().to(at::kLong);
  inputs.mask = Normals({size.heads, n, n}, seed + 5).clamp_min(0);
  inputs.gates = at::sigmoid(Normals({size.batch, size.heads, n}, seed + 6));
  return {std::move(name), std::move(inputs)};
}

void MaskKeys(AttentionInputs* inputs) {
  inputs->key_mask = at::ones({inputs->batch(), inputs->length()}, at::kDouble);
  for (std::int64_t b = 0; b < inputs->batch(); ++b) {
    inputs->key_mask[b].slice(0, inputs->length() - 2 - b).zero_();
    inputs->key_mask[b][b + 1] = 0;
  }
}

/// Of the edges, by the distance of their ends: at most 0.3, so that series of their powers fall.
torch::Tensor BellWeights(const AttentionInputs& inputs) {
  const torch::Tensor from = at::repeat_interleave(inputs.graph.offsets.diff());
  const torch::Tensor apart = inputs.positions.index_select(0, from) -
                              inputs.positions.index_select(0, inputs.graph.neighbors);
  return 0.3 * at::exp(-apart.square().sum(1) / 2);
}

}  // namespace

torch::Tensor Normals(at::IntArrayRef shape, std::uint64_t seed, at::ScalarType type) {
  std::int64_t count = 1;
  for (const std::int64_t side : shape) count *= side;
  return attention::NormalMatrix(seed, RandomStream::kDataGeneration, 0, 0, count, 1)
      .reshape(shape)
      .to(type);
}

GraphInput UndirectedInput(std::int64_t n, const EdgeList& edges) {
  std::vector<std::vector<std::int64_t>> rows(static_cast<std::size_t>(n));
  for (const auto& [a, b] : edges) {
    rows[a].push_back(b);
    rows[b].push_back(a);
  }
  std::vector<std::int64_t> offsets{0}, neighbors;
  for (auto& row : rows) {
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    neighbors.insert(neighbors.end(), row.begin(), row.end());
    offsets.push_back(static_cast<std::int64_t>(neighbors.size()));
  }
  return {at::tensor(offsets, at::kLong), at::tensor(neighbors, at::kLong), {}};
}

EdgeList RingEdges(std::int64_t n) {
  EdgeList edges;
  for (std::int64_t i = 0; i < n && n > 2; ++i) edges.emplace_back(i, (i + 1) % n);
  if (n == 2) edges.emplace_back(0, 1);
  return edges;
}

EdgeList GridEdges(const std::vector<std::int64_t>& grid) {
  EdgeList edges;
  std::int64_t n = 1;
  for (const std::int64_t side : grid) n *= side;
  std::int64_t stride = n;
  for (const std::int64_t side : grid) {
    stride /= side;
    for (std::int64_t i = 0; i < n; ++i) {
      if (i / stride % side + 1 < side) edges.emplace_back(i, i + stride);
    }
  }
  return edges;
}

EdgeList RandomEdges(std::int64_t n, double share, std::uint64_t seed) {
  RandomSequence random(seed, RandomStream::kDataGeneration, 1);
  EdgeList edges;
  for (std::int64_t i = 0; i + 1 < n; ++i) {
    for (std::int64_t j = i + 1; j + 1 < n; ++j) {
      if (random.Uniform() < share) edges.emplace_back(i, j);
    }
  }
  return edges;
}

EdgeList NearestEdges(const torch::Tensor& positions, std::int64_t k) {
  EdgeList edges;
  const torch::Tensor apart = at::cdist(positions, positions);
  for (std::int64_t i = 0; i < positions.size(0); ++i) {
    const torch::Tensor order = apart[i].argsort();
    for (std::int64_t r = 1; r <= k; ++r) edges.emplace_back(i, order[r].item<std::int64_t>());
  }
  return edges;
}

TreeInput PathTree(std::int64_t n) {
  std::vector<std::int64_t> parents;
  for (std::int64_t i = 0; i < n; ++i) parents.push_back(i - 1);
  return TreeOf(parents);
}

TreeInput StarTree(std::int64_t n) {
  std::vector<std::int64_t> parents(static_cast<std::size_t>(n), 0);
  parents[0] = -1;
  return TreeOf(parents);
}

TreeInput CaterpillarTree(std::int64_t n) {
  std::vector<std::int64_t> parents;
  for (std::int64_t i = 0; i < n; ++i) parents.push_back(i < n / 2 ? i - 1 : i - n / 2);
  return TreeOf(parents);
}

TreeInput RandomForest(std::int64_t n, std::uint64_t seed) {
  RandomSequence random(seed, RandomStream::kDataGeneration, 2);
  // Tokens in a shuffled order: parents do not stand before their children.
  std::vector<std::int64_t> place, parents(static_cast<std::size_t>(n), -1);
  for (std::int64_t i = 0; i < n; ++i) place.push_back(i);
  for (std::int64_t i = n - 1; i > 0; --i) {
    std::swap(place[i], place[random.Below(static_cast<std::uint32_t>(i + 1))]);
  }
  for (std::int64_t i = 1; i < n; ++i) {
    if (random.Below(8) == 0) continue;
    parents[place[i]] = place[random.Below(static_cast<std::uint32_t>(i))];
  }
  return TreeOf(parents);
}

std::vector<Scene> AllScenes(const SceneSize& size) {
  std::vector<Scene> scenes;
  scenes.push_back(MakeScene("sequence", {12}, 1, size, 100));
  scenes.back().inputs.graph = UndirectedInput(12, RingEdges(12));
  scenes.back().inputs.tree = PathTree(12);

  scenes.push_back(MakeScene("grid", {3, 4}, 2, size, 200));
  scenes.back().inputs.graph = UndirectedInput(12, GridEdges({3, 4}));
  scenes.back().inputs.tree = RandomForest(12, 5);
  MaskKeys(&scenes.back().inputs);

  scenes.push_back(MakeScene("hypercube", {2, 2, 2, 2}, 3, size, 300));
  scenes.back().inputs.graph = UndirectedInput(16, RandomEdges(16, 0.2, 3));
  scenes.back().inputs.tree = StarTree(16);

  scenes.push_back(MakeScene("cloud", {2, 3, 4}, 3, size, 400));
  scenes.back().inputs.graph = UndirectedInput(24, NearestEdges(scenes.back().inputs.positions, 3));
  scenes.back().inputs.graph.weights = BellWeights(scenes.back().inputs);
  scenes.back().inputs.tree = CaterpillarTree(24);
  for (const std::int64_t token : {3, 7, 8, 14})
    scenes.back().inputs.gates.select(2, token).zero_();
  for (const std::int64_t token : {4, 9, 20}) scenes.back().inputs.gates.select(2, token).fill_(1);
  MaskKeys(&scenes.back().inputs);
  return scenes;
}

std::vector<Scene> TinyScenes(const SceneSize& size) {
  std::vector<Scene> scenes;
  for (const std::int64_t n : {1, 2}) {
    for (const std::int64_t dimensions : {1, 3}) {
      scenes.push_back(MakeScene(std::to_string(n) + " tokens", {n}, dimensions, size, 500 + n));
      scenes.back().inputs.graph = UndirectedInput(n, RingEdges(n));
      scenes.back().inputs.tree = PathTree(n);
    }
  }
  return scenes;
}

std::vector<Scene> DirectedScenes(const SceneSize& size) {
  std::vector<Scene> scenes;
  for (const bool has_weights : {true, false}) {
    scenes.push_back(
        MakeScene(has_weights ? "directed" : "directed, no weights", {14}, 3, size, 600));
    AttentionInputs& inputs = scenes.back().inputs;
    const torch::Tensor apart = at::cdist(inputs.positions, inputs.positions);
    const torch::Tensor nearest = std::get<0>(apart.argsort(1, false).slice(1, 1, 4).sort(1));
    inputs.graph = {3 * at::arange(15, at::kLong), nearest.flatten(), {}};
    if (has_weights) inputs.graph.weights = 0.1 + 0.2 * Normals({42}, 610).abs();
    inputs.tree = PathTree(14);
  }
  return scenes;
}

AttentionInputs WithClassTokens(AttentionInputs inputs, const nlohmann::json& options) {
  const std::int64_t count = options.value("class_tokens", 0);
  if (count == 0) return inputs;
  const auto extended = [count](const torch::Tensor& x, std::uint64_t seed) {
    return at::cat({Normals({x.size(0), x.size(1), count, x.size(3)}, seed).to(x.scalar_type()), x},
                   2);
  };
  inputs.q = extended(inputs.q, 700);
  inputs.k = extended(inputs.k, 701);
  inputs.v = extended(inputs.v, 702);
  if (inputs.key_mask.defined()) {
    inputs.key_mask = at::constant_pad_nd(inputs.key_mask, {count, 0}, 1);
  }
  return inputs;
}

AttentionInputs AsType(AttentionInputs inputs, at::ScalarType type) {
  for (torch::Tensor* tensor :
       {&inputs.q, &inputs.k, &inputs.v, &inputs.mask, &inputs.gates, &inputs.positions}) {
    if (tensor->defined()) *tensor = tensor->to(type);
  }
  for (torch::Tensor* tensor : {&inputs.graph.weights, &inputs.tree.weights}) {
    if (tensor->defined()) *tensor = tensor->to(type);
  }
  for (auto& entry : inputs.parameters) entry.second = entry.second.to(type);
  return inputs;
}

std::vector<nlohmann::json> OptionVariants(const attention::MechanismInfo& info) {
  using Type = attention::OptionSpec::Type;
  nlohmann::json small = nlohmann::json::object();
  const auto has = [&](const char* name) {
    return std::any_of(info.options.begin(), info.options.end(),
                       [name](const auto& spec) { return spec.name == name; });
  };
  for (const auto& [name, value] :
       std::initializer_list<std::pair<const char*, int>>{{"features", 8},
                                                          {"frequencies", 4},
                                                          {"realizations", 6},
                                                          {"mask_features", 6},
                                                          {"rank", 4},
                                                          {"degree", 6},
                                                          {"chunk", 5},
                                                          {"walks", 6},
                                                          {"max_degree", 4},
                                                          {"max_distance", 3}}) {
    if (has(name)) small[name] = value;
  }
  std::vector<nlohmann::json> variants{small};
  for (const auto& spec : info.options) {
    if (spec.type == Type::kFlag) {
      variants.push_back(small);
      variants.back()[spec.name] = !spec.default_value.get<bool>();
    }
    for (const std::string& choice : spec.choices) {
      if (choice == spec.default_value) continue;
      variants.push_back(small);
      variants.back()[spec.name] = choice;
      if (choice == "softmax" && has("delta")) {
        variants.push_back(variants.back());
        variants.back()["delta"] = 0.5;
      }
      // Values that the others' defaults do not fit.
      if (choice == "p_step") variants.back()["scale"] = 2.5;
      if (choice == "resolvent") variants.back()["scale"] = 0.7;
      if (spec.name == "kernel" && has("learn_width")) {
        variants.push_back(variants.back());
        variants.back()["learn_width"] = true;
        variants.back()["width"] = 0.8;
      }
    }
    for (const auto& [name, value] :
         std::initializer_list<std::pair<const char*, double>>{{"proj_dim", 7},
                                                               {"class_tokens", 2},
                                                               {"terms", 3},
                                                               {"delta", 0.5},
                                                               {"floor", 0.02},
                                                               {"walk_alpha", 0.7}}) {
      if (spec.name != name) continue;
      variants.push_back(small);
      variants.back()[name] = value;
      if (spec.type == Type::kInteger) variants.back()[name] = static_cast<std::int64_t>(value);
    }
  }
  return variants;
}

bool IsSigned(const std::string& mechanism, const nlohmann::json& options) {
  const std::string coefficients = options.value("coefficients", "");
  return mechanism == "rfa_gaussian" || options.value("score", "") == "rfa_gaussian" ||
         options.value("kernel", "") == "cosine" || coefficients == "cosine" ||
         coefficients == "p_step" || !options.value("abs", true);
}

std::string CaseText(const std::string& mechanism, const nlohmann::json& options,
                     const std::string& scene, attention::Way way) {
  return mechanism + " " + options.dump() + " " + scene + " " + std::string(WayName(way));
}

}  // namespace interlacer::testing
