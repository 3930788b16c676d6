#include "model/config.h"

#include <algorithm>
#include <cmath>

#include "knn/kernels/walk_rows.h"

namespace interlacer {
namespace {

/// Of mechanisms of the attention library, some of which are called as the model's own layers are.
constexpr char kLibraryPrefix[] = "library:";

/// The robot moves exactly, and the graph brings the motion of its surface to what it touches. Each
/// time has a graph of its own, because across times the neighbours of a moved particle are its own
/// copies.
InterlacerConfig PaperConfig() {
  InterlacerConfig config;
  config.robot_motion = RobotMotion::kKinematic;
  config.encoder.color_skip = true;
  config.tokens.displacement_scale = 100;
  config.graph.scope = GraphScope::kPerTime;
  config.network.motion_gate = true;
  config.network.min_displacement_m = 1e-3f;
  return config;
}

InterlacerConfig SmallConfig() {
  InterlacerConfig config = PaperConfig();
  config.name = "small";
  config.encoder.widths = {16, 32, 64};
  config.tokens.fourier_octaves = 6;
  config.network.width = 64;
  config.network.block_count = 2;
  config.network.local.key_width = 64;
  config.renderer.hidden_width = 64;
  // 1.5 cm apart: at 3 cm a ray steps over the 1 cm kernels and surfaces show rings.
  config.renderer.samples_per_ray = 128;
  for (CameraSpec& camera : config.data.cameras) camera.width_px = camera.height_px = 64;
  // All pixels: a quarter of them costs 0.12 of SSIM before anything has moved.
  config.data.particle_count = 8192;
  config.data.min_particle_count = 256;
  return config;
}

}  // namespace

std::vector<std::string_view> PresetNames() { return {"paper", "small"}; }

StatusOr<InterlacerConfig> PresetConfig(std::string_view name) {
  if (name == "paper") return PaperConfig();
  if (name == "small") return SmallConfig();
  return Mismatch(reason::CONFIG_INVALID, "model", "paper or small", std::string(name));
}

StatusOr<InterlacerConfig> WithLocalLayer(InterlacerConfig config, std::string_view name) {
  if (name == kOnesVariant) {
    INTERLACER_ASSIGN_OR_RETURN(
        config, WithLocalLayer(std::move(config), LocalLayerName(LocalLayer::kGrfExact)));
    config.network.local.mask_positivity = MaskPositivity::kOnes;
    return config;
  }
  const auto* const found =
      std::find_if(kLocalLayers.begin(), kLocalLayers.end(), [&](const auto& layer) {
        return layer.first != LocalLayer::kMechanism && layer.second == name;
      });
  if (found == kLocalLayers.end()) {
    return Mismatch(reason::CONFIG_INVALID, "network.local.kind", "one of " + LocalVariantNames(),
                    std::string(name));
  }
  const LocalLayer kind = found->first;
  LocalLayerConfig& local = config.network.local;
  local.kind = kind;
  // What the former layer alone reads.
  local.mechanism.reset();
  local.head_count = 1;
  if (local.mask_positivity == MaskPositivity::kOnes) {
    local.mask_positivity = MaskPositivity::kAbsCoefficients;
  }
  const double d = config.network.width;
  const double attention = 2 * (d + 1) * (d + local.key_width);
  if (kind == LocalLayer::kMessagePassing) {
    // Three two-layer networks m wide and the scores have (9 d + 10) m + 3 d numbers.
    local.message_width =
        std::max(1, static_cast<int>(std::lround((attention - 3 * d) / (9 * d + 10))));
  }
  if (kind == LocalLayer::kNone) {
    // The feed-forward layer after attention, (2 d + 1) d f + d, and two norms, 4 d, are compared
    // too.
    int& f = config.network.ffn_factor;
    f = 2 * f + static_cast<int>(std::lround((attention + 5 * d) / ((2 * d + 1) * d)));
  }
  return config;
}

int LocalNeighborCount(const InterlacerConfig& config) {
  const LocalLayerConfig& local = config.network.local;
  switch (local.kind) {
    case LocalLayer::kGrfExact:
    case LocalLayer::kGrfSampled:
      return config.graph.neighbor_count;
    case LocalLayer::kMessagePassing:
      return local.anchor_neighbor_count;
    case LocalLayer::kMechanism:
      return local.mechanism->neighbor_count;
    case LocalLayer::kUnmasked:
    case LocalLayer::kNone:
      break;
  }
  return 0;
}

bool PacksWalks(const InterlacerConfig& config) {
  return config.network.local.kind == LocalLayer::kGrfExact &&
         config.graph.edge_weight == EdgeWeight::kUniform && !config.graph.symmetrise &&
         config.graph.neighbor_count <= kMaxWalkDegree;
}

std::string_view LocalLayerName(LocalLayer kind) {
  for (const auto& [each, name] : kLocalLayers) {
    if (each == kind) return name;
  }
  return {};
}

std::string LocalVariantNames() {
  std::string names(kOnesVariant);
  for (const auto& [kind, name] : kLocalLayers) {
    if (kind != LocalLayer::kMechanism) names.append(", ").append(name);
  }
  return names;
}

std::string AttentionVariant(const InterlacerConfig& config) {
  const LocalLayerConfig& local = config.network.local;
  const bool is_ones =
      local.kind == LocalLayer::kGrfExact && local.mask_positivity == MaskPositivity::kOnes;
  const auto& global = config.network.global.mechanism;
  return (local.mechanism ? kLibraryPrefix + local.mechanism->name
                          : std::string(is_ones ? kOnesVariant : LocalLayerName(local.kind))) +
         "+" + (global ? kLibraryPrefix + global->name : "linear_relu");
}

}  // namespace interlacer
