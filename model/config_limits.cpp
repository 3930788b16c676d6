#include <set>
#include <string>
#include <utility>

#include "common/scene_limits.h"
#include "model/attention/library_attention.h"
#include "model/config.h"

namespace interlacer {
namespace {

constexpr int kMaxImageSidePx = 2048;
constexpr std::int64_t kMaxParticles = std::int64_t{1} << 22;

/// Collects the first violated limit.
class Limits {
 public:
  template <typename T>
  void Within(std::string_view key, T value, T low, T high) {
    if (!(value >= low && value <= high)) {
      Refuse(key, std::to_string(low) + ".." + std::to_string(high), std::to_string(value));
    }
  }
  void Require(bool holds, std::string_view key, std::string expected, std::string got) {
    if (!holds) Refuse(key, std::move(expected), std::move(got));
  }
  const Status& status() const { return status_; }

 private:
  void Refuse(std::string_view key, std::string expected, std::string got) {
    if (!status_.ok()) return;
    status_ =
        Mismatch(reason::CONFIG_INVALID, std::string(key), std::move(expected), std::move(got));
  }
  Status status_;
};

void CheckData(const DataConfig& data, Limits* limits) {
  limits->Within<std::size_t>("data.cameras", data.cameras.size(), 1, 8);
  std::set<std::string> names;
  for (const CameraSpec& camera : data.cameras) {
    limits->Within("data.cameras.width_px", camera.width_px, 1, kMaxImageSidePx);
    limits->Within("data.cameras.height_px", camera.height_px, 1, kMaxImageSidePx);
    limits->Require(names.insert(camera.name).second, "data.cameras.name", "distinct names",
                    camera.name);
    limits->Require(camera.width_px == data.cameras[0].width_px &&
                        camera.height_px == data.cameras[0].height_px,
                    "data.cameras", "one size for all cameras", camera.name);
  }
  limits->Within("data.step_duration_s", data.step_duration_s, 1e-3, 60.0);
  limits->Within<std::int64_t>("data.particle_count", data.particle_count, 1, kMaxParticles);
  limits->Within<std::int64_t>("data.min_particle_count", data.min_particle_count, 1,
                               data.particle_count);
  for (int axis = 0; axis < 3; ++axis) {
    const double side_m = data.workspace.max_m[axis] - data.workspace.min_m[axis];
    limits->Within("data.workspace", side_m, 1e-3, kMaxSceneSideM);
  }
}

void CheckEncoder(const EncoderConfig& encoder, Limits* limits) {
  limits->Within<std::size_t>("encoder.widths", encoder.widths.size(), 1, 6);
  limits->Within("encoder.norm_group_count", encoder.norm_group_count, 1, 64);
  for (const int width : encoder.widths) {
    limits->Within("encoder.widths", width, 1, 1024);
    limits->Require(encoder.norm_group_count > 0 && width % encoder.norm_group_count == 0,
                    "encoder.widths", "multiples of norm_group_count", std::to_string(width));
  }
  limits->Within("encoder.feature_width", encoder.feature_width, 1, 64);
}

void CheckTokens(const TokenConfig& tokens, Limits* limits) {
  limits->Within("tokens.fourier_octaves", tokens.fourier_octaves, 1, 16);
  limits->Within("tokens.displacement_scale", tokens.displacement_scale, 0.01f, 1000.f);
}

void CheckNeighbors(const std::string& layer, const MechanismConfig& mechanism, Limits* limits) {
  limits->Within(layer + ".mechanism.neighbor_count", mechanism.neighbor_count, 1, 64);
}

void CheckNetwork(const NetworkConfig& network, Limits* limits) {
  limits->Within("network.width", network.width, 1, 1024);
  limits->Within("network.block_count", network.block_count, 1, 32);
  limits->Within("network.ffn_factor", network.ffn_factor, 1, 32);
  limits->Within("network.feature_epsilon", network.feature_epsilon, 0.f, 1.f);
  limits->Within("network.normalizer_epsilon", network.normalizer_epsilon, 0.f, 1.f);
  limits->Within("network.max_displacement_m", network.max_displacement_m, 1e-6f, 10.f);
  limits->Within("network.min_displacement_m", network.min_displacement_m, 0.f,
                 network.max_displacement_m);
  const int heads = network.global.head_count;
  limits->Within("network.global.head_count", heads, 1, 64);
  limits->Require(heads > 0 && network.width % heads == 0, "network.global.head_count",
                  "a divisor of network.width", std::to_string(heads));
  const LocalLayerConfig& local = network.local;
  limits->Require((local.kind == LocalLayer::kMechanism) == local.mechanism.has_value(),
                  "network.local.mechanism",
                  "a mechanism beside the kind mechanism, and there alone",
                  local.mechanism ? local.mechanism->name : "nothing");
  limits->Within("network.local.head_count", local.head_count, 1, 64);
  limits->Require(local.head_count > 0 && network.width % local.head_count == 0 &&
                      local.key_width % local.head_count == 0,
                  "network.local.head_count",
                  "a divisor of network.width and network.local.key_width",
                  std::to_string(local.head_count));
  if (network.global.mechanism) CheckNeighbors("network.global", *network.global.mechanism, limits);
  if (local.mechanism) CheckNeighbors("network.local", *local.mechanism, limits);
  limits->Within("network.local.key_width", local.key_width, 1, 1024);
  limits->Within("network.local.walk_count", local.walk_count, 1, 4096);
  limits->Require(local.kind != LocalLayer::kGrfSampled ||
                      local.sampler != WalkSampler::kAntithetic || local.walk_count % 2 == 0,
                  "network.local.walk_count", "an even number for the sampler antithetic",
                  std::to_string(local.walk_count));
  limits->Within("network.local.halt_probability", local.halt_probability, 0.0, 0.99);
  limits->Within("network.local.anchor_stride", local.anchor_stride, 1, 1024);
  limits->Within("network.local.anchor_neighbor_count", local.anchor_neighbor_count, 1, 64);
  limits->Within("network.local.message_width", local.message_width, 1, 4096);
  limits->Within("network.local.offset_scale_m", local.offset_scale_m, 1e-6f, 10.f);
}

void CheckOutlierFilter(const OutlierFilter& filter, Limits* limits) {
  limits->Within("lifting.outlier_filter.neighbor_count", filter.neighbor_count, 1, 256);
  if (filter.kind == OutlierFilterKind::kStatistical) {
    limits->Within("lifting.outlier_filter.std_ratio", filter.std_ratio, 0.1, 100.0);
  } else {
    limits->Within("lifting.outlier_filter.radius_m", filter.radius_m, 1e-4, 1.0);
  }
}

Status NotBuilt(std::string field, std::string got, std::string_view library,
                std::string_view option) {
  std::string message = field + ": this build is without " + std::string(library) + " (" +
                        std::string(option) + "), got " + got;
  return Unimplemented(reason::FEATURE_NOT_BUILT, std::move(message))
      .WithField(std::move(field))
      .WithMetadata("got", std::move(got));
}

Status CheckBuild(const InterlacerConfig& config) {
  if (!KnnBackendAvailable(config.graph.index)) {
    return NotBuilt("graph.index", std::string(KnnBackendName(config.graph.index)), "FAISS",
                    "INTERLACER_WITH_FAISS");
  }
  if (config.lifting.outlier_filter && !OutlierFilterAvailable()) {
    return NotBuilt("lifting.outlier_filter", "a filter", "Open3D", "INTERLACER_WITH_OPEN3D");
  }
  return Status();
}

}  // namespace

Status ValidateConfig(const InterlacerConfig& config) {
  Limits limits;
  CheckData(config.data, &limits);
  if (config.lifting.outlier_filter) CheckOutlierFilter(*config.lifting.outlier_filter, &limits);
  limits.Within("lifting.attach_radius_m", config.lifting.attach.radius_m, 1e-4, 0.1);
  limits.Within("lifting.attach_finger_radius_m", config.lifting.attach.finger_radius_m, 1e-4, 0.1);
  limits.Within("lifting.contact_point_count", config.lifting.contact_point_count, 0, 262144);
  limits.Require(config.lifting.contact_point_count == 0 || config.network.contact_guess,
                 "lifting.contact_point_count", "0 without network.contact_guess",
                 std::to_string(config.lifting.contact_point_count));
  CheckEncoder(config.encoder, &limits);
  CheckTokens(config.tokens, &limits);
  limits.Within("graph.neighbor_count", config.graph.neighbor_count, 1, 16);
  CheckNetwork(config.network, &limits);
  limits.Require(!config.network.contact_guess || config.robot_motion == RobotMotion::kKinematic,
                 "network.contact_guess", "false where the robot's motion is learned", "true");
  const LocalLayer local = config.network.local.kind;
  limits.Require(!config.graph.symmetrise || local == LocalLayer::kGrfExact ||
                     local == LocalLayer::kGrfSampled,
                 "graph.symmetrise", "false beside a local layer without walks", "true");
  limits.Require(config.renderer.feature_width == config.encoder.feature_width,
                 "renderer.feature_width", std::to_string(config.encoder.feature_width),
                 std::to_string(config.renderer.feature_width));
  INTERLACER_RETURN_IF_ERROR(limits.status());
  INTERLACER_RETURN_IF_ERROR(CheckMechanisms(config.network));
  INTERLACER_RETURN_IF_ERROR(CheckBuild(config));
  return ValidateRendererConfig(config.renderer);
}

}  // namespace interlacer
