#pragma once

/// Tokens with every extra input at once, so that any mechanism finds what it needs.

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/attention/core/attention.h"

namespace interlacer::testing {

using attention::AttentionInputs;

/// Numbers N(0,1), by seed alone.
torch::Tensor Normals(at::IntArrayRef shape, std::uint64_t seed, at::ScalarType type = at::kDouble);

using EdgeList = std::vector<std::pair<std::int64_t, std::int64_t>>;
/// Each edge both ways, without weights.
attention::GraphInput UndirectedInput(std::int64_t n, const EdgeList& edges);
EdgeList RingEdges(std::int64_t n);
EdgeList GridEdges(const std::vector<std::int64_t>& grid);
/// Pairs that a coin picks, among all tokens but the last, which stays without edges.
EdgeList RandomEdges(std::int64_t n, double share, std::uint64_t seed);
/// The k nearest of each point, both ways.
EdgeList NearestEdges(const torch::Tensor& positions, std::int64_t k);

attention::TreeInput PathTree(std::int64_t n);
attention::TreeInput StarTree(std::int64_t n);
/// A spine of n/2 tokens with a leaf each.
attention::TreeInput CaterpillarTree(std::int64_t n);
/// Random parents; now and then a new root. Edge lengths in [0.2,1.2].
attention::TreeInput RandomForest(std::int64_t n, std::uint64_t seed);

struct Scene {
  std::string name;
  AttentionInputs inputs;
};

struct SceneSize {
  std::int64_t batch = 2, heads = 2, width = 5, value_width = 3;
};

/// A sequence, a grid, a hypercube with a random graph, a cloud in space whose edges have weights
/// and gates of which some are 0 and some 1, all in float64. Some have padding. Graphs are
/// undirected; trees are a path, a random forest, a star and a caterpillar.
std::vector<Scene> AllScenes(const SceneSize& size);
/// The same with one or two tokens.
std::vector<Scene> TinyScenes(const SceneSize& size);

/// Directed graphs of the 3 nearest points, with weights of both ends and without any.
std::vector<Scene> DirectedScenes(const SceneSize& size);

/// With class tokens of the options, if there are any, before the others.
AttentionInputs WithClassTokens(AttentionInputs inputs, const nlohmann::json& options);

/// Of the tensors of numbers, not of indices; parameters too.
AttentionInputs AsType(AttentionInputs inputs, at::ScalarType type);

/// Empty, and one for every other value of a word or flag of the options; of softmax scores one
/// more with delta. Sizes of random parts are small in all.
std::vector<nlohmann::json> OptionVariants(const attention::MechanismInfo& info);

/// "name {options} scene way" for messages.
/// Whether scores times mask may be negative.
bool IsSigned(const std::string& mechanism, const nlohmann::json& options);

std::string CaseText(const std::string& mechanism, const nlohmann::json& options,
                     const std::string& scene, attention::Way way);

}  // namespace interlacer::testing
