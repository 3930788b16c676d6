#include "model/lifting/robot_steps.h"

#include <ATen/Functions.h>

#include <vector>

#include "model/lifting/token_surface.h"
#include "model/network/tokens.h"

namespace interlacer {
namespace {

constexpr std::size_t kOlderTime = 0;

torch::Tensor VectorsOf(const std::vector<float>& values, std::int64_t times, std::int64_t points) {
  return at::tensor(values, at::kFloat).reshape({times, points, 3});
}

/// Rows [times,p,3] of the three times of a step; empty without a robot.
torch::Tensor WindowOf(const torch::Tensor& of_times, std::int64_t step) {
  return of_times.size(0) > 0 ? of_times.narrow(0, step - 1, kKinematicTimes)
                              : at::empty({kKinematicTimes, 0, 3}, of_times.options());
}

/// Motion of a cloud's particles between two times (SurfaceInput). [n,4]
torch::Tensor MotionOf(const CloudTensors& cloud, const CarriedParticles& carried,
                       std::int64_t from, std::int64_t to) {
  const auto options = cloud.positions_m.options().requires_grad(false);
  const torch::Tensor motion = at::zeros({cloud.positions_m.size(0), kRobotMotionWidth}, options);
  if (carried.empty()) return motion;
  const torch::Tensor displacement_m =
      (carried.PositionsAt(to) - carried.PositionsAt(from)).to(motion.scalar_type());
  return motion.index_copy(
      0, carried.rows(),
      at::cat({at::ones({displacement_m.size(0), 1}, options), displacement_m}, 1));
}

}  // namespace

RobotSteps::RobotSteps(const Robot* robot, const KinematicRows& rows, bool moves_exactly,
                       const AttachedCloud& older, const AttachedCloud& newer)
    : joints_(rows.joints) {
  const torch::Device device = newer.cloud.positions_m.device();
  TokenSurface surface;
  if (robot != nullptr) surface = PoseTokenSurface(*robot, rows.link_poses);
  const auto times = static_cast<std::int64_t>(rows.link_poses.size());
  points_m_ = VectorsOf(surface.points_m, times, surface.point_count).to(device);
  normals_ = VectorsOf(surface.normals, times, surface.point_count).to(device);
  is_gripper_ = at::tensor(surface.is_gripper, at::kFloat).to(device);
  if (!moves_exactly) return;
  newer_ = {newer.links, newer.cloud.positions_m, rows.link_poses, kNewestTime};
  // What the older cloud's particles do next is an input of the first step alone.
  older_ = {older.links, older.cloud.positions_m, rows.link_poses, kOlderTime};
}

torch::Tensor RobotSteps::Guess(std::int64_t step, const CloudTensors& newer,
                                const ContactGuess& contacts, ContactRule::Touched* touched) const {
  const torch::Tensor now_m = newer.positions_m.detach().to(at::kCPU).contiguous();
  const std::span<const float> positions_m{now_m.const_data_ptr<float>(),
                                           static_cast<std::size_t>(now_m.numel())};
  const auto time = static_cast<std::size_t>(step);
  torch::Tensor followed_m = at::empty_like(now_m);
  contacts.Follow(joints_.at(time), joints_.at(time + 1), positions_m, touched,
                  {followed_m.mutable_data_ptr<float>(), positions_m.size()});
  return followed_m.sub_(now_m).to(newer.positions_m.device());
}

StepInput RobotSteps::InputOf(std::int64_t step, const CloudTensors& older,
                              const CloudTensors& newer, const torch::Tensor& guess_m,
                              const Box& workspace, std::uint64_t graph_seed) const {
  StepInput input{older,     newer,      WindowOf(points_m_, step),
                  workspace, graph_seed, SurfaceOf(step, older, newer)};
  if (guess_m.defined()) input.surface.newer_motion.narrow(1, 1, 3).add_(guess_m);
  return input;
}

SurfaceInput RobotSteps::SurfaceOf(std::int64_t step, const CloudTensors& older,
                                   const CloudTensors& newer) const {
  return {WindowOf(normals_, step), is_gripper_,
          MotionOf(older, step == 1 ? older_ : newer_, step - 1, step),
          MotionOf(newer, newer_, step, step + 1)};
}

CloudTensors RobotSteps::Place(std::int64_t step, const CloudTensors& predicted,
                               const CloudTensors& newer) const {
  return newer_.PlaceInto(predicted, newer, step + 1);
}

}  // namespace interlacer
