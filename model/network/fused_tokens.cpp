#include "model/network/fused_tokens.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "common/thread_pool.h"
#include "common/transforms.h"
#include "model/cuda/backend.h"

namespace interlacer {
namespace {

static_assert(kRobotTimes == kKinematicTimes);

bool IsPlainOf(const torch::Tensor& t, at::IntArrayRef shape) {
  return t.scalar_type() == at::kFloat && t.is_contiguous() && t.sizes() == shape;
}

bool IsPlainCloud(const CloudTensors& cloud, int feature_width) {
  const std::int64_t n = cloud.positions_m.size(0);
  return IsPlainOf(cloud.positions_m, {n, 3}) && IsPlainOf(cloud.features, {n, feature_width});
}

/// Sets the origin and unit of the network's coordinates in both kinds of tokens.
template <typename Tokens>
void SetPlaces(const Box& workspace, const TokenConfig& config, Tokens* tokens) {
  const Vec3d center = BoxCenter(workspace);
  for (int axis = 0; axis < 3; ++axis) tokens->center_m[axis] = static_cast<float>(center[axis]);
  tokens->extent_m = static_cast<float>(LargestHalfExtent(workspace));
  tokens->octaves = config.fourier_octaves;
}

/// The robot's context without its positions.
RobotContext ContextOf(const TokenConfig& config, const torch::Tensor& bandwidths_m) {
  RobotContext context;
  if (!config.kinematic_context) return context;
  context.bandwidth_count = static_cast<int>(bandwidths_m.size(0));
  context.bandwidths_m = bandwidths_m.const_data_ptr<float>();
  context.displacement_scale = config.displacement_scale;
  context.softening = static_cast<float>(kContextSoftening);
  context.mass_floor = static_cast<float>(kContextMassFloor);
  context.log_scale = static_cast<float>(kContextLogScale);
  return context;
}

/// Writes the rows of one kind and time from the number `begin` of `rows` on.
void Write(const TokenFeatures& tokens, const torch::Tensor& rows, std::int64_t begin,
           const CudaBackend* cuda) {
  float* const out = rows.mutable_data_ptr<float>() + begin;
  if (cuda != nullptr) {
    cuda->Check(cuda->kernels.LaunchTokenFeatures(tokens, out, cuda->stream_of(rows)),
                "token features");
  } else {
    WriteTokenFeatures(tokens, out, &ParallelFor);
  }
}

}  // namespace

int VisualFeatureWidth(const InterlacerConfig& config) {
  const bool has_motion = config.tokens.robot == RobotTokens::kSurfacePoints;
  return config.encoder.feature_width + (has_motion ? kRobotMotionWidth : 0);
}

bool CanFuseTokens(const StepInput& input, const InterlacerConfig& config) {
  const torch::Tensor& bodies_m = input.kinematic_points_m;
  if (at::GradMode::is_enabled() || bodies_m.dim() != 3) return false;
  const std::int64_t bodies = bodies_m.size(1);
  const bool takes_any = config.tokens.robot == RobotTokens::kSurfacePoints;
  return (bodies == 0 || takes_any || bodies == config.kinematics.point_count()) &&
         IsPlainOf(bodies_m, {kKinematicTimes, bodies, 3}) &&
         IsPlainCloud(input.older, VisualFeatureWidth(config)) &&
         IsPlainCloud(input.newer, VisualFeatureWidth(config));
}

torch::Tensor FusedVisualRows(const StepInput& input, const InterlacerConfig& config,
                              const torch::Tensor& bandwidths_m, const CudaBackend* cuda) {
  TokenFeatures tokens;
  SetPlaces(input.workspace, config.tokens, &tokens);
  tokens.feature_width = VisualFeatureWidth(config);
  tokens.times = kVisualTimes;
  tokens.robot = ContextOf(config.tokens, bandwidths_m);
  tokens.robot.point_count = static_cast<int>(input.kinematic_points_m.size(1));
  const float* const bodies_m = input.kinematic_points_m.const_data_ptr<float>();
  const std::int64_t older_count = input.older.positions_m.size(0);
  const int width = TokenFeatureWidth(tokens);
  const torch::Tensor rows = at::empty({older_count + input.newer.positions_m.size(0), width},
                                       input.older.positions_m.options());
  for (int time = 0; time < kVisualTimes; ++time) {
    const CloudTensors& cloud = time == 0 ? input.older : input.newer;
    tokens.n = cloud.positions_m.size(0);
    tokens.positions_m = cloud.positions_m.const_data_ptr<float>();
    tokens.features = cloud.features.const_data_ptr<float>();
    tokens.time = time;
    tokens.robot.points_m = bodies_m + 3 * time * tokens.robot.point_count;
    tokens.robot.next_points_m = tokens.robot.points_m + 3 * tokens.robot.point_count;
    Write(tokens, rows, time * older_count * width, cuda);
  }
  return rows;
}

torch::Tensor FusedSurfaceRows(const StepInput& input, const torch::Tensor& attributes,
                               const InterlacerConfig& config, const CudaBackend* cuda) {
  TokenFeatures tokens;
  SetPlaces(input.workspace, config.tokens, &tokens);
  tokens.n = input.kinematic_points_m.size(1);
  tokens.feature_width = static_cast<int>(attributes.size(2));
  tokens.times = kKinematicTimes;
  const int width = TokenFeatureWidth(tokens);
  const torch::Tensor rows =
      at::empty({kKinematicTimes * tokens.n, width}, input.kinematic_points_m.options());
  const torch::Tensor values = attributes.contiguous();
  for (int time = 0; time < kKinematicTimes; ++time) {
    tokens.time = time;
    tokens.positions_m = input.kinematic_points_m.const_data_ptr<float>() + 3 * time * tokens.n;
    tokens.features = values.const_data_ptr<float>() + time * tokens.n * tokens.feature_width;
    Write(tokens, rows, time * tokens.n * width, cuda);
  }
  return rows;
}

RobotRows FusedRobotRows(const StepInput& input, const InterlacerConfig& config,
                         const LimbSurface& limbs, const CudaBackend* cuda) {
  KinematicTokens tokens;
  SetPlaces(input.workspace, config.tokens, &tokens);
  tokens.arm_count = config.kinematics.arm_count;
  tokens.bodies_per_arm = config.kinematics.bodies_per_arm;
  tokens.bodies_m = input.kinematic_points_m.const_data_ptr<float>();
  tokens.rings = limbs.Rings();
  tokens.finger_span_m = static_cast<float>(config.kinematics.finger_span_m);
  tokens.displacement_scale = config.tokens.displacement_scale;
  const std::int64_t points = KinematicPointCount(tokens);
  const auto options = input.kinematic_points_m.options();
  const RobotRows robot{
      at::empty({kKinematicTimes, points, 3}, options),
      at::empty({kKinematicTimes * points, KinematicTokenWidth(tokens)}, options)};
  const KinematicTokenOutputs out{robot.points_m.mutable_data_ptr<float>(),
                                  robot.rows.mutable_data_ptr<float>()};
  if (cuda != nullptr) {
    cuda->Check(cuda->kernels.LaunchKinematicTokens(tokens, out, cuda->stream_of(robot.rows)),
                "kinematic tokens");
  } else {
    WriteKinematicTokens(tokens, out, &ParallelFor);
  }
  return robot;
}

}  // namespace interlacer
