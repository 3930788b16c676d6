#include "bench/device/model/model_peers.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "common/transforms.h"
#include "model/network/tokens.h"

namespace interlacer::bench {

void LoadTensor(ChildPeer* child, const std::string& name, const torch::Tensor& tensor) {
  const auto hand_over = [&]<typename T>(const torch::Tensor& values, const T* data) {
    child->Load(name, std::span(data, static_cast<std::size_t>(values.numel())),
                values.sizes().vec());
  };
  if (tensor.is_floating_point()) {
    const torch::Tensor values = tensor.detach().to(at::kCPU, at::kFloat).contiguous();
    hand_over(values, values.const_data_ptr<float>());
  } else {
    const torch::Tensor values = tensor.to(at::kCPU, at::kInt).contiguous();
    hand_over(values, values.const_data_ptr<std::int32_t>());
  }
}

void LoadModel(ChildPeer* child, const WorldModel& model, const Box& workspace) {
  for (const auto& item : model.named_parameters()) {
    if (!item.key().starts_with("unet.")) LoadTensor(child, "w." + item.key(), item.value());
  }
  const InterlacerConfig& config = model.config();
  const Vec3d center_m = BoxCenter(workspace);
  const std::vector<double> numbers{static_cast<double>(config.tokens.fourier_octaves),
                                    static_cast<double>(config.network.block_count),
                                    static_cast<double>(config.network.global.head_count),
                                    config.network.max_displacement_m,
                                    config.network.feature_epsilon,
                                    config.network.normalizer_epsilon,
                                    LargestHalfExtent(workspace),
                                    center_m[0],
                                    center_m[1],
                                    center_m[2]};
  LoadTensor(child, "numbers", at::tensor(numbers, at::kFloat));
}

void LoadSteps(ChildPeer* child, const InterlacerConfig& config, const StepInput& first,
               const torch::Tensor& points_m, const std::vector<WalkIndices>& walks) {
  LoadTensor(child, "older.positions", first.older.positions_m);
  LoadTensor(child, "older.features", first.older.features);
  LoadTensor(child, "newer.positions", first.newer.positions_m);
  LoadTensor(child, "newer.features", first.newer.features);
  LoadTensor(child, "points", points_m);
  const double scale = config.tokens.displacement_scale;
  const auto load_motion = [&](const char* name, const CloudTensors& cloud,
                               const torch::Tensor& motion) {
    LoadTensor(child, name,
               WithRobotMotion(cloud, motion, scale)
                   .features.narrow(1, cloud.features.size(1), kRobotMotionWidth));
  };
  load_motion("older.motion", first.older, first.surface.older_motion);
  load_motion("newer.motion", first.newer, first.surface.newer_motion);
  StepInput input = first;
  for (std::size_t s = 0; s < walks.size(); ++s) {
    const std::string of = "." + std::to_string(s);
    input.kinematic_points_m = points_m.narrow(0, static_cast<std::int64_t>(s), kKinematicTimes);
    LoadTensor(child, "attributes" + of, KinematicAttributes(input, scale));
    LoadTensor(child, "roots" + of, walks[s].pair_roots);
    LoadTensor(child, "ends" + of, walks[s].pair_ends);
    LoadTensor(child, "loads" + of, walks[s].pair_loads);
  }
}

bool AnySelected(const Options& options, std::initializer_list<std::string> peers) {
  return options.peer.empty() || std::find(peers.begin(), peers.end(), options.peer) != peers.end();
}

std::vector<double> ToDoubles(const torch::Tensor& tensor) {
  const torch::Tensor values = tensor.detach().to(at::kCPU, at::kDouble).contiguous();
  const double* const data = values.const_data_ptr<double>();
  return {data, data + values.numel()};
}

}  // namespace interlacer::bench
