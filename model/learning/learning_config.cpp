#include "model/learning/learning_config.h"

#include <array>
#include <utility>

#include "model/training/schedule_json.h"

namespace interlacer {
namespace {

/// So that no array is made of a number that nobody meant.
constexpr std::int64_t kMaxWidth = 4096;
constexpr std::size_t kMaxLayers = 64;
constexpr std::int64_t kMaxCount = std::int64_t{1} << 24;

constexpr std::array<std::pair<const char*, LayerMaps>, 3> kMapNames{
    {{"separate", LayerMaps::kSeparate},
     {"shared", LayerMaps::kShared},
     {"none", LayerMaps::kNone}}};

template <typename T>
Status ReadWithin(const JsonObject& object, const char* key, T low, T high, T* value) {
  INTERLACER_ASSIGN_OR_RETURN(*value, object.GetOr<T>(key, *value));
  if (*value >= low && *value <= high) return Status::Ok();
  return object.Invalid(key, std::to_string(low) + " to " + std::to_string(high),
                        std::to_string(*value));
}

StatusOr<AttentionLayerConfig> ParseLayer(const JsonObject& object) {
  INTERLACER_RETURN_IF_ERROR(
      object.AllowOnly({"mechanism", "options", "way", "fixed", "heads", "head_width", "maps",
                        "residual", "feed_forward_width"}));
  AttentionLayerConfig layer;
  INTERLACER_ASSIGN_OR_RETURN(layer.mechanism, object.Get<std::string>("mechanism"));
  if (object.Has("options")) {
    INTERLACER_RETURN_IF_ERROR(object.GetObject("options").status());
    INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json* const options, object.Find("options"));
    layer.options = options->dump();
  }
  INTERLACER_ASSIGN_OR_RETURN(layer.way, object.GetOr("way", layer.way));
  INTERLACER_ASSIGN_OR_RETURN(layer.fixed,
                              object.GetOr<std::vector<std::string>>("fixed", layer.fixed));
  INTERLACER_RETURN_IF_ERROR(
      ReadWithin<std::int64_t>(object, "heads", 1, kMaxWidth, &layer.head_count));
  INTERLACER_RETURN_IF_ERROR(
      ReadWithin<std::int64_t>(object, "head_width", 1, kMaxWidth, &layer.head_width));
  if (layer.head_count * layer.head_width > kMaxWidth) {
    return object.Invalid("head_width",
                          "at most " + std::to_string(kMaxWidth / layer.head_count) + " for " +
                              std::to_string(layer.head_count) + " heads",
                          std::to_string(layer.head_width));
  }
  INTERLACER_ASSIGN_OR_RETURN(const auto maps, object.GetOr<std::string>("maps", "separate"));
  bool is_known = false;
  for (const auto& [name, value] : kMapNames) {
    if (maps != name) continue;
    layer.maps = value;
    is_known = true;
  }
  if (!is_known) return object.Invalid("maps", "separate, shared or none", maps);
  INTERLACER_ASSIGN_OR_RETURN(layer.residual, object.GetOr("residual", layer.residual));
  INTERLACER_RETURN_IF_ERROR(ReadWithin<std::int64_t>(object, "feed_forward_width", 0, kMaxWidth,
                                                      &layer.feed_forward_width));
  if (layer.feed_forward_width > 0 && !layer.residual) {
    return object.Invalid("feed_forward_width", "0 in a layer that is not residual",
                          std::to_string(layer.feed_forward_width));
  }
  return layer;
}

}  // namespace

StatusOr<TokenNetworkConfig> ParseTokenNetwork(const JsonObject& object) {
  INTERLACER_RETURN_IF_ERROR(object.AllowOnly({"embedding_width", "learned_positions", "layers"}));
  TokenNetworkConfig network;
  INTERLACER_RETURN_IF_ERROR(
      ReadWithin<std::int64_t>(object, "embedding_width", 0, kMaxWidth, &network.embedding_width));
  INTERLACER_ASSIGN_OR_RETURN(network.learned_positions,
                              object.GetOr("learned_positions", network.learned_positions));
  INTERLACER_ASSIGN_OR_RETURN(const auto layers, object.GetObjects("layers"));
  if (layers.empty() || layers.size() > kMaxLayers) {
    return object.Invalid("layers", "1 to " + std::to_string(kMaxLayers) + " layers",
                          std::to_string(layers.size()));
  }
  for (const JsonObject& layer : layers) {
    INTERLACER_ASSIGN_OR_RETURN(network.layers.emplace_back(), ParseLayer(layer));
  }
  return network;
}

StatusOr<LearningConfig> ParseLearning(const JsonObject& object) {
  INTERLACER_RETURN_IF_ERROR(
      object.AllowOnly({"epochs", "batch_size", "learning_rate", "weight_decay",
                        "gradient_clip_norm", "patience", "checkpoint_every"}));
  LearningConfig config;
  INTERLACER_RETURN_IF_ERROR(
      ReadWithin<std::int64_t>(object, "epochs", 1, kMaxCount, &config.epoch_count));
  INTERLACER_RETURN_IF_ERROR(ReadWithin(object, "batch_size", 1, 1 << 20, &config.batch_size));
  INTERLACER_ASSIGN_OR_RETURN(config.learning_rate,
                              ScheduleOr(object, "learning_rate", config.learning_rate));
  INTERLACER_RETURN_IF_ERROR(CheckSchedule(config.learning_rate, object.PathOf("learning_rate")));
  for (std::size_t i = 0; i < config.learning_rate.size(); ++i) {
    if (config.learning_rate[i].value > 0) continue;
    return Mismatch(reason::CONFIG_INVALID,
                    object.PathOf("learning_rate") + "[" + std::to_string(i) + "].value",
                    "a number above 0", std::to_string(config.learning_rate[i].value));
  }
  INTERLACER_RETURN_IF_ERROR(ReadWithin(object, "weight_decay", 0.0, 1e3, &config.weight_decay));
  INTERLACER_RETURN_IF_ERROR(
      ReadWithin(object, "gradient_clip_norm", 0.0, 1e9, &config.gradient_clip_norm));
  INTERLACER_RETURN_IF_ERROR(ReadWithin(object, "patience", 0, 1 << 20, &config.patience));
  INTERLACER_RETURN_IF_ERROR(
      ReadWithin<std::int64_t>(object, "checkpoint_every", 1, kMaxCount, &config.checkpoint_every));
  return config;
}

Status CheckLearning(const LearningConfig& config) {
  const nlohmann::json network = ToJson(config.network), training = TrainingToJson(config);
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject layers,
                              JsonObject::Make(network, "network", reason::CONFIG_INVALID));
  INTERLACER_RETURN_IF_ERROR(ParseTokenNetwork(layers).status());
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject budget,
                              JsonObject::Make(training, "training", reason::CONFIG_INVALID));
  return ParseLearning(budget).status();
}

nlohmann::ordered_json ToJson(const TokenNetworkConfig& network) {
  nlohmann::ordered_json layers = nlohmann::ordered_json::array();
  for (const AttentionLayerConfig& layer : network.layers) {
    std::string maps;
    for (const auto& [name, value] : kMapNames) {
      if (value == layer.maps) maps = name;
    }
    layers.push_back({{"mechanism", layer.mechanism},
                      {"options", nlohmann::ordered_json::parse(layer.options)},
                      {"way", layer.way},
                      {"fixed", layer.fixed},
                      {"heads", layer.head_count},
                      {"head_width", layer.head_width},
                      {"maps", maps},
                      {"residual", layer.residual},
                      {"feed_forward_width", layer.feed_forward_width}});
  }
  return {{"embedding_width", network.embedding_width},
          {"learned_positions", network.learned_positions},
          {"layers", std::move(layers)}};
}

nlohmann::ordered_json TrainingToJson(const LearningConfig& config) {
  return {{"epochs", config.epoch_count},
          {"batch_size", config.batch_size},
          {"learning_rate", ScheduleToJson(config.learning_rate)},
          {"weight_decay", config.weight_decay},
          {"gradient_clip_norm", config.gradient_clip_norm},
          {"patience", config.patience},
          {"checkpoint_every", config.checkpoint_every}};
}

}  // namespace interlacer
