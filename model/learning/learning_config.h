#pragma once

/// Settings of a learner: a network of attention layers, and its training; with their JSON form.
///
/// Defaults are the motif experiment's. Errors: INVALID_ARGUMENT CONFIG_INVALID naming the key.
/// Value types, pure functions, thread-safe. Source: gkat, Sec. 5.1.

#include <cstdint>
#include <string>
#include <vector>

#include "common/json.h"
#include "common/status.h"
#include "model/training/schedule.h"

namespace interlacer {

/// How queries, keys and values are made of a layer's input; no map has a bias.
enum class LayerMaps {
  kSeparate,  ///< three dense maps
  kShared,    ///< one dense map for all three, as in GAT
  kNone,      ///< they are the input itself, of width head_count * head_width
};

struct AttentionLayerConfig {
  std::string mechanism;       ///< of the attention library (docs/attention.md)
  std::string options = "{}";  ///< its options; without a seed that of the run counts
  /// dense, fastmult, pairs or features; auto or empty: the mechanism's choice, which is for long
  /// inputs.
  std::string way;
  std::vector<std::string> fixed;  ///< the mechanism's parameters that keep their first value
  std::int64_t head_count = 1;
  std::int64_t head_width = 8;
  LayerMaps maps = LayerMaps::kSeparate;
  /// The layer adds to its input: x + out(attention(norm(x))), of equal width, and then
  /// x + feed_forward(norm(x)) where that has a hidden width.
  bool residual = false;
  std::int64_t feed_forward_width = 0;
};

/// Features, a dense map of them, layers, mean over tokens, a dense map to the target.
struct TokenNetworkConfig {
  std::int64_t embedding_width = 0;  ///< 0: the first layer reads the features
  bool learned_positions = false;    ///< adds a vector for every place; examples of one length
  std::vector<AttentionLayerConfig> layers;
};

struct LearningConfig {
  TokenNetworkConfig network;
  std::int64_t epoch_count = 100;
  int batch_size = 128;
  Schedule<double> learning_rate{{0, 1e-3}};  ///< by steps
  double weight_decay = 0;
  double gradient_clip_norm = 0;  ///< 0 clips nothing
  int patience = 0;  ///< epochs without a lower validation loss that end a run; 0: never
  std::int64_t checkpoint_every = 10;  ///< epochs
};

/// {"embedding_width", "learned_positions", "layers": [{"mechanism", ...}]}.
StatusOr<TokenNetworkConfig> ParseTokenNetwork(const JsonObject& object);
/// All but the network: {"epochs", "batch_size", "learning_rate": [{"from_step", "value"}],
/// "weight_decay", "gradient_clip_norm", "patience", "checkpoint_every"}.
StatusOr<LearningConfig> ParseLearning(const JsonObject& object);
/// Of a configuration that was made in code: what the two above refuse.
Status CheckLearning(const LearningConfig& config);
nlohmann::ordered_json ToJson(const TokenNetworkConfig& network);
/// Without the network.
nlohmann::ordered_json TrainingToJson(const LearningConfig& config);

}  // namespace interlacer
