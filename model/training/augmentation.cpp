#include "model/training/augmentation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "common/transforms.h"

namespace interlacer {
namespace {

void TurnPoints(const Transform& turn, std::vector<float>* points_m) {
  for (std::size_t i = 0; i + 2 < points_m->size(); i += 3) {
    float* p = points_m->data() + i;
    const Vec3d turned = Apply(turn, {p[0], p[1], p[2]});
    for (int axis = 0; axis < 3; ++axis) p[axis] = static_cast<float>(turned[axis]);
  }
}

}  // namespace

void TurnSample(double yaw_rad, TrainingSample* sample) {
  const Vec3d center = BoxCenter(sample->workspace);
  const Transform turn = Compose(Transform{center, YawQuaternion(yaw_rad)},
                                 Transform{{-center[0], -center[1], -center[2]}, {0, 0, 0, 1}});
  TurnPoints(turn, &sample->older.positions_m);
  TurnPoints(turn, &sample->newer.positions_m);
  TurnPoints(turn, &sample->seen.positions_m);
  for (std::vector<float>& at_m : sample->tracks.positions_m) TurnPoints(turn, &at_m);
  for (std::vector<Transform>& poses : sample->robot_rows.link_poses) {
    for (Transform& world_from_link : poses) world_from_link = Compose(turn, world_from_link);
  }
  if (sample->robot != nullptr) {
    auto robot = std::make_shared<Robot>(*sample->robot);
    Transform& world_from_root = robot->links.front().joint.parent_from_joint;
    world_from_root = Compose(turn, world_from_root);
    sample->robot = std::move(robot);
  }
  for (std::vector<SupervisedView>& views : sample->target_steps) {
    for (SupervisedView& view : views) {
      view.camera.world_from_camera = Compose(turn, view.camera.world_from_camera);
    }
  }
}

void RecolorSample(RandomSequence random, TrainingSample* sample) {
  std::array<std::size_t, 3> from{0, 1, 2};
  std::swap(from[0], from[random.Below(3)]);
  std::swap(from[1], from[1 + random.Below(2)]);
  std::array<std::array<std::uint8_t, 256>, 3> table{};
  for (auto& values : table) {
    const double factor = random.Uniform(kMinChannelFactor, kMaxChannelFactor);
    for (std::size_t value = 0; value < values.size(); ++value) {
      values[value] = static_cast<std::uint8_t>(
          std::min(255L, std::lround(factor * static_cast<double>(value))));
    }
  }
  for (LiftedTime* time : {&sample->older, &sample->newer}) {
    for (RgbImage& image : time->images) {
      for (std::size_t i = 0; i + 2 < image.pixels.size(); i += 3) {
        const std::array<std::uint8_t, 3> was{image.pixels[i], image.pixels[i + 1],
                                              image.pixels[i + 2]};
        for (std::size_t c = 0; c < 3; ++c) image.pixels[i + c] = table[c][was[from[c]]];
      }
    }
  }
}

}  // namespace interlacer
