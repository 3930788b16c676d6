#include "model/engine/token_rows.h"

#include <ATen/Functions.h>

#include "common/thread_pool.h"
#include "common/transforms.h"
#include "model/cuda/backend.h"

namespace interlacer {
namespace {

static_assert(kRobotTimes == kKinematicTimes);

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

/// Rows of the particles [older + newer,width].
torch::Tensor VisualRows(const StepInput& input, const InterlacerConfig& config,
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

/// Rows [3 p,width] of surface points; `attributes` [3,p,a] stand before their places.
torch::Tensor SurfaceRows(const StepInput& input, const torch::Tensor& attributes,
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

struct RobotRows {
  torch::Tensor points_m;  ///< [3,q,3], as LimbSurface::forward returns them
  torch::Tensor rows;      ///< [3 q,width]
};

/// Rows of a robot with limbs.
RobotRows LimbRows(const StepInput& input, const InterlacerConfig& config, const LimbSurface& limbs,
                   const CudaBackend* cuda) {
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

}  // namespace

TokenSet EncodeTokens(const TokenEncoder& encoder, const StepInput& given,
                      const CudaBackend* cuda) {
  const InterlacerConfig& config = encoder.config();
  const auto& [visual, kinematic, limbs] = encoder.layers();
  StepInput input = given;
  input.kinematic_points_m = given.kinematic_points_m.contiguous();
  const std::int64_t bodies = input.kinematic_points_m.size(1);
  TORCH_CHECK(bodies == 0 || !limbs || bodies == config.kinematics.point_count(),
              "tokens: expected ", config.kinematics.point_count(), " points of the robot, got ",
              bodies);
  RobotRows robot{input.kinematic_points_m, {}};
  if (bodies > 0 && limbs) robot = LimbRows(input, config, *limbs, cuda);
  if (bodies > 0 && !limbs) {
    robot.rows = SurfaceRows(input, SurfaceAttributes(input, config.tokens.displacement_scale),
                             config, cuda);
  }
  TokenSet tokens = CountTokens(input, robot.points_m);
  tokens.h =
      at::empty({tokens.positions_m.size(0), visual->out_width()}, tokens.positions_m.options());
  const auto write = [&](const Dense& layer, const torch::Tensor& rows, std::int64_t begin) {
    torch::Tensor h = tokens.h.narrow(0, begin, rows.size(0));
    at::addmm_out(h, layer.bias, rows, layer.weight.t());
  };
  write(*visual, VisualRows(input, config, encoder.bandwidths_m(), cuda), 0);
  if (bodies > 0) write(*kinematic, robot.rows, tokens.older_count + tokens.newer_count);
  return tokens;
}

}  // namespace interlacer
