#include "model/engine/token_rows.h"

#include <ATen/Functions.h>

#include "common/thread_pool.h"
#include "common/transforms.h"
#include "model/cuda/backend.h"

namespace interlacer {
namespace {

/// Rows of one kind: their places, and how many times there are.
TokenFeatures RowsOf(const Box& workspace, const TokenConfig& config, int times) {
  TokenFeatures tokens;
  const Vec3d center = BoxCenter(workspace);
  for (int axis = 0; axis < 3; ++axis) tokens.center_m[axis] = static_cast<float>(center[axis]);
  tokens.extent_m = static_cast<float>(LargestHalfExtent(workspace));
  tokens.octaves = config.fourier_octaves;
  tokens.times = times;
  return tokens;
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
                         const CudaBackend* cuda) {
  TokenFeatures tokens = RowsOf(input.workspace, config.tokens, kVisualTimes);
  tokens.feature_width = VisualFeatureWidth(config);
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
    Write(tokens, rows, time * older_count * width, cuda);
  }
  return rows;
}

/// Rows [3 p,width] of the robot's points; their attributes stand before their places.
torch::Tensor KinematicRowsOf(const StepInput& input, const InterlacerConfig& config,
                              const CudaBackend* cuda) {
  TokenFeatures tokens = RowsOf(input.workspace, config.tokens, kKinematicTimes);
  const torch::Tensor points_m = input.kinematic_points_m.contiguous();
  const torch::Tensor attributes =
      KinematicAttributes(input, config.tokens.displacement_scale).contiguous();
  tokens.n = points_m.size(1);
  tokens.feature_width = kKinematicAttributeWidth;
  const int width = TokenFeatureWidth(tokens);
  const torch::Tensor rows = at::empty({kKinematicTimes * tokens.n, width}, points_m.options());
  for (int time = 0; time < kKinematicTimes; ++time) {
    tokens.time = time;
    tokens.positions_m = points_m.const_data_ptr<float>() + 3 * time * tokens.n;
    tokens.features = attributes.const_data_ptr<float>() + time * tokens.n * tokens.feature_width;
    Write(tokens, rows, time * tokens.n * width, cuda);
  }
  return rows;
}

}  // namespace

TokenSet EncodeTokens(const TokenEncoder& encoder, const StepInput& input,
                      const CudaBackend* cuda) {
  const InterlacerConfig& config = encoder.config();
  const auto& [visual, kinematic] = encoder.layers();
  TokenSet tokens = CountTokens(input);
  tokens.h =
      at::empty({tokens.positions_m.size(0), visual->out_width()}, tokens.positions_m.options());
  const auto write = [&](const Dense& layer, const torch::Tensor& rows, std::int64_t begin) {
    torch::Tensor h = tokens.h.narrow(0, begin, rows.size(0));
    at::addmm_out(h, layer.bias, rows, layer.weight.t());
  };
  write(*visual, VisualRows(input, config, cuda), 0);
  if (tokens.kinematic_count > 0) {
    write(*kinematic, KinematicRowsOf(input, config, cuda),
          tokens.older_count + tokens.newer_count);
  }
  return tokens;
}

}  // namespace interlacer
