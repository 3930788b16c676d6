#pragma once

/// Configuration of the world model: every number it depends on, with default, limits and JSON
/// form.
///
/// One InterlacerConfig describes a model completely: data layout, network, renderer. It is stored
/// beside the weights as config.json. Lengths in metres, times in seconds, sizes in pixels; the
/// workspace box is in the world frame.
/// Errors: INVALID_ARGUMENT CONFIG_INVALID naming the key, what was expected and what came;
/// UNIMPLEMENTED FEATURE_NOT_BUILT naming the key that asks for a library this build is without.
/// Threads: value types and pure functions.
/// Source: grf-masking, App. C.3; hd-vpd.

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/geometry.h"
#include "common/model_metadata.h"
#include "common/status.h"
#include "data/outlier_filter.h"
#include "knn/edge_weight.h"
#include "knn/knn_index.h"
#include "model/kernels/walk_sampler_options.h"
#include "render/renderer.h"
#include "robots/attachment.h"

namespace interlacer {

class JsonObject;

/// Sizes of clouds and images.
struct DataConfig {
  std::vector<CameraSpec> cameras{{"left", 320, 240}, {"right", 320, 240}};
  double step_duration_s = 0.5;
  std::int64_t particle_count = 32768;     ///< drawn per time
  std::int64_t min_particle_count = 1024;  ///< fewer valid pixels are an error
  Box workspace{{-0.75, -0.75, -0.05}, {0.75, 0.75, 0.95}};
  std::string world_frame_name = "table_center";
  bool operator==(const DataConfig&) const = default;
};

/// How pixels become particles.
struct LiftingConfig {
  /// Which particles belong to the robot.
  AttachOptions attach;
  /// Drops isolated points before particles are drawn: flying pixels between foreground and
  /// background, as real depth cameras measure them. Runs on the host for any device.
  std::optional<OutlierFilter> outlier_filter;
  /// A network.contact_guess sees so many pixels of the newest views as they were sent
  /// (model/lifting/seen_points.h); where there are as many particles, or with 0, it sees those.
  int contact_point_count = 0;
  bool operator==(const LiftingConfig&) const = default;
};

struct EncoderConfig {
  std::vector<int> widths{32, 64, 128, 256};  ///< U-Net, finest level first
  int norm_group_count = 8;
  int feature_width = 16;
  /// Adds a linear map of a pixel's own colour to its feature vector, past the U-Net. A deviation
  /// from the papers: without it thousands of updates learnt only two of three axes of colour, and
  /// greens and purples came out grey.
  bool color_skip = false;
  bool operator==(const EncoderConfig&) const = default;
};

/// Most points of a robot's surface that are tokens, at one time.
inline constexpr int kMaxSurfaceTokens = 1300;

struct TokenConfig {
  int fourier_octaves = 8;
  /// Factor on the robot's displacements, metres a step, in tokens. Values that bring common
  /// displacements near 1 are learnt sooner.
  float displacement_scale = 4;
  bool operator==(const TokenConfig&) const = default;
};

enum class GraphScope { kAll, kPerTime };

struct GraphConfig {
  int neighbor_count = 3;
  /// Scope of the walks' graph and of message passing's anchors: all tokens, or each time
  /// separately.
  GraphScope scope = GraphScope::kAll;
  EdgeWeight edge_weight = EdgeWeight::kUniform;
  /// Makes the neighbour graph undirected: an edge where either token names the other.
  bool symmetrise = false;
  /// Search for neighbours, also of message passing's anchors: kGrid, or on the CPU kFaissFlat (all
  /// pairs) or kFaissIvf (approximate, as in grf-masking, Sec. 4).
  KnnBackend index = KnnBackend::kGrid;
  bool operator==(const GraphConfig&) const = default;
};

/// kUnmasked: the layer of kGrfExact with every pair of tokens and all weights one. kNone: no local
/// layer and no feed-forward layers after it. kMechanism: a MechanismConfig.
enum class LocalLayer { kGrfExact, kGrfSampled, kMessagePassing, kUnmasked, kNone, kMechanism };
/// How coefficients become weights of pairs; kOnes has none of them: every pair of the lists weighs
/// one, so that the lists alone are compared with the mask that is learnt over them.
enum class MaskPositivity { kAbsCoefficients, kAbsMask, kSoftplusCoefficients, kNone, kOnes };

/// A mechanism of the attention library (model/attention/catalog/catalog.h) as a layer, on the CPU.
/// It may read the tokens' positions, in metres, and a graph of their nearest neighbours with
/// GraphConfig's scope, index and edge weights; uniform weights leave it to the mechanism.
struct MechanismConfig {
  std::string name;
  std::string options = "{}";  ///< a JSON object
  int neighbor_count = 3;
  bool symmetrise = true;  ///< undirected, as most of the mechanisms need it
  bool operator==(const MechanismConfig&) const = default;
};

struct GlobalLayerConfig {
  int head_count = 4;
  std::optional<MechanismConfig> mechanism;  ///< in place of ReLU linear attention
  bool operator==(const GlobalLayerConfig&) const = default;
};

struct LocalLayerConfig {
  LocalLayer kind = LocalLayer::kGrfExact;
  int key_width = 128;
  MaskPositivity mask_positivity = MaskPositivity::kAbsCoefficients;
  /// Multiplies the output by 1/walk_count as Alg. 2 prints it; for comparison only.
  bool paper_literal_division = false;
  // grf_sampled
  WalkSampler sampler = WalkSampler::kRepelling;
  int walk_count = 27;
  double halt_probability = 0;
  // message_passing
  int anchor_stride = 4;  ///< number of tokens for each anchor
  int anchor_neighbor_count = 16;
  int message_width = 128;
  float offset_scale_m = 0.05f;
  // mechanism
  int head_count = 1;
  std::optional<MechanismConfig> mechanism;
  bool operator==(const LocalLayerConfig&) const = default;
};

struct NetworkConfig {
  int width = 128;
  int block_count = 4;
  int ffn_factor = 4;
  float feature_epsilon = 1e-3f;      ///< added to ReLU features, both layers
  float normalizer_epsilon = 1e-12f;  ///< added to normalisers, both layers
  float max_displacement_m = 0.25f;   ///< limit for a particle in a step
  /// Multiplies displacement and feature change of a particle by a learned share that starts near
  /// zero, so that what stands still is what need not be learnt. Ours.
  bool motion_gate = false;
  /// Shorter displacements are zero in inference, to the bit; training sees them. Ours.
  float min_displacement_m = 0;
  /// Tells each step where objects go that follow what touches them (robots/contact_rule.h); the
  /// network says of each particle how much of that to take. Only where the robot moves exactly.
  /// Ours.
  bool contact_guess = false;
  GlobalLayerConfig global;
  LocalLayerConfig local;
  bool operator==(const NetworkConfig&) const = default;
};

struct InterlacerConfig {
  std::string name = "paper";
  /// kKinematic places the robot's particles by its links' poses.
  RobotMotion robot_motion = RobotMotion::kLearned;
  DataConfig data;
  LiftingConfig lifting;
  EncoderConfig encoder;
  TokenConfig tokens;
  GraphConfig graph;
  NetworkConfig network;
  RendererConfig renderer;  ///< feature_width follows the encoder's
};

/// "paper" or "small": fewer and narrower layers, smaller images. In both the robot moves exactly,
/// and a gate is on all other motion.
StatusOr<InterlacerConfig> PresetConfig(std::string_view name);
std::vector<std::string_view> PresetNames();

/// The configuration with another local layer in place of attention, for comparisons at equal size:
/// "grf_ones" is grf_exact with MaskPositivity::kOnes. Messages get the width at which the layer
/// has as many parameters as attention; with `none` the remaining feed-forward layers get the
/// parameters of the local layer and its own. CONFIG_INVALID for a name that is
/// not in LocalVariantNames.
StatusOr<InterlacerConfig> WithLocalLayer(InterlacerConfig config, std::string_view name);

/// Number of neighbours that the local layer looks for: of a token, or of an anchor; 0 without a
/// graph.
int LocalNeighborCount(const InterlacerConfig& config);

/// Whether the masks of all steps are packed (model/ops/walk_mask.h).
bool PacksWalks(const InterlacerConfig& config);

/// Checks limits, divisibility, agreement of the parts, and that this build supports them.
Status ValidateConfig(const InterlacerConfig& config);

/// Writes every key with a value, in a fixed order; ConfigFromJson(ConfigToJson(c)) equals c to the
/// bit.
nlohmann::ordered_json ConfigToJson(const InterlacerConfig& config);
/// Missing keys take their value from the preset named by key "base", or without it from
/// InterlacerConfig(), whose values never change, because stored configurations may predate the
/// newest keys. Refuses unknown keys and wrong types, validates. Errors name keys from
/// `object.path()`.
StatusOr<InterlacerConfig> ConfigFromJson(const JsonObject& object);
/// ConfigFromJson for a text; one that is no JSON is an error at `origin`, its path.
StatusOr<InterlacerConfig> ParseConfigJson(std::string_view text,
                                           const std::string& origin = "config.json");

/// Layer kinds in one word, such as "grf_exact+linear_relu".
std::string AttentionVariant(const InterlacerConfig& config);
/// Local layers by their names in configurations.
inline constexpr std::array<std::pair<LocalLayer, std::string_view>, 6> kLocalLayers{
    {{LocalLayer::kGrfExact, "grf_exact"},
     {LocalLayer::kGrfSampled, "grf_sampled"},
     {LocalLayer::kMessagePassing, "message_passing"},
     {LocalLayer::kUnmasked, "unmasked"},
     {LocalLayer::kNone, "none"},
     {LocalLayer::kMechanism, "mechanism"}}};
std::string_view LocalLayerName(LocalLayer kind);
/// What WithLocalLayer takes, with commas between.
std::string LocalVariantNames();

}  // namespace interlacer
