#pragma once

/// The plan of a comparison of networks: data, training, networks, seeds, claims. The command reads
/// it and nothing else, so that the file is the protocol (docs/learning.md).
///
/// JSON: {"name", "data": MotifSettings, "training": LearningConfig, "seeds": [..., ...],
/// "networks": [{"name", "network": TokenNetworkConfig, "published": accuracy}, ...],
/// "claims": [["a", "b"], ...]}. A claim says that a has a higher test accuracy than b. The seed of
/// a run is that of its network's first weights and of the order of examples; its data are drawn
/// with the data's seed plus it. So the networks of a seed have the same examples in the same order
/// and the same number of epochs.
/// Errors: those of common/json.h; CONFIG_INVALID naming the key. Value types.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/learning/motifs.h"
#include "model/learning/learning_config.h"

namespace interlacer {

struct PlannedNetwork {
  std::string name;
  TokenNetworkConfig network;
  std::optional<double> published;  ///< accuracy of a paper
};

struct LearningPlan {
  std::string name;
  MotifSettings data;
  LearningConfig training;  ///< its network is not used
  std::vector<std::int64_t> seeds;
  std::vector<PlannedNetwork> networks;
  std::vector<std::array<std::string, 2>> claims;
};

StatusOr<LearningPlan> ParseLearningPlan(const nlohmann::json& document);
StatusOr<LearningPlan> ReadLearningPlan(const std::string& path);

}  // namespace interlacer
